import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { customResourceDefinitions } from "../src/definitions/custom-resource-definitions.js";
import type { JsonSchema } from "../src/definitions/json-schema.js";
import { PROTOS, readProtos } from "../src/definitions/read-protos.js";

const HEADER = `syntax = "proto3";
package istio.meta.v1alpha1;
import "crd/schema.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/wrappers.proto";
`;
const STATUS = "message IstioStatus { int64 observed_generation = 1 [(istiod.crd.field).int_or_string = true]; }\n";
const RESOURCE = `option (istiod.crd.resource) = { group: "library.example", versions: ["v1"], plural: "books" };\n`;

/** Returns the definitions for a text of messages. */
async function definitionsOf(messages: string) {
  const folder = await mkdtemp(join(tmpdir(), "istiod-manifests-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, "crd"));
  await copyFile(join(PROTOS, "crd/schema.proto"), join(folder, "crd/schema.proto"));
  await writeFile(join(folder, "library.proto"), HEADER + STATUS + messages);
  return customResourceDefinitions(await readProtos(folder));
}

/** Returns the schema of the spec of a kind with these fields. */
async function specOf(fields: string): Promise<JsonSchema> {
  const [definition] = await definitionsOf(`message Book { ${RESOURCE} ${fields} }`);
  return definition?.spec.versions[0]?.schema.openAPIV3Schema.properties?.["spec"] ?? {};
}

async function propertiesOf(fields: string) {
  return (await specOf(fields)).properties;
}

test("scalars, enums, lists, maps and well-known messages have the schemas of their JSON form", async () => {
  const properties = await propertiesOf(`
    enum Genre { UNKNOWN = 0; NOVEL = 1; }
    message Shelf { uint32 row = 1; }
    string title = 1; bool lent = 2; uint32 pages = 3; int32 edition = 4; int64 copies = 5; double price = 6;
    Genre genre = 7; repeated string authors = 8; map<string, Shelf> shelves = 9; google.protobuf.Struct extra = 10;
    google.protobuf.BoolValue rare = 11; google.protobuf.Duration loan_time = 12; uint64 barcode = 13;`);
  expect(properties).toEqual({
    title: { type: "string" },
    lent: { type: "boolean" },
    pages: { type: "integer", minimum: 0, maximum: 4294967295 },
    edition: { type: "integer", format: "int32" },
    copies: { type: "integer", format: "int64" },
    price: { type: "number", format: "double" },
    genre: { type: "string", enum: ["UNKNOWN", "NOVEL"] },
    authors: { type: "array", items: { type: "string" } },
    shelves: {
      type: "object",
      additionalProperties: {
        type: "object",
        properties: { row: { type: "integer", minimum: 0, maximum: 4294967295 } },
      },
    },
    extra: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    rare: { type: "boolean", nullable: true },
    loanTime: {
      type: "string",
      "x-kubernetes-validations": [expect.objectContaining({ rule: "duration(self) >= duration('1ms')" })],
    },
    barcode: { type: "integer", minimum: 0 },
  });
});

test("constraints of a field are in its schema, those of items and values in theirs", async () => {
  const spec = await specOf(`
    string title = 1 [(istiod.crd.field) = { required: true, min_length: 1, max_length: 9, pattern: "^[A-Z]" }];
    uint32 pages = 2 [(istiod.crd.field) = { minimum: 1, maximum: 9000 }];
    repeated string authors = 3 [(istiod.crd.field) = {
      min_items: 1, max_items: 3, items: { max_length: 5, rules: { rule: "self != '*'", message: "no star" } }
    }];
    map<string, string> notes = 4 [(istiod.crd.field) = {
      min_properties: 1, max_properties: 2, values: { min_length: 1 }
    }];
    google.protobuf.Duration loan_time = 5 [(istiod.crd.field).any_duration = true];
    uint32 loan_days = 6 [(istiod.crd.field).alternative_name = "loan_days"];`);
  expect(spec.required).toEqual(["title"]);
  expect(spec.properties).toEqual({
    title: { type: "string", minLength: 1, maxLength: 9, pattern: "^[A-Z]" },
    pages: { type: "integer", minimum: 1, maximum: 9000 },
    authors: {
      type: "array",
      minItems: 1,
      maxItems: 3,
      items: {
        type: "string",
        maxLength: 5,
        "x-kubernetes-validations": [{ rule: "self != '*'", message: "no star" }],
      },
    },
    notes: {
      type: "object",
      minProperties: 1,
      maxProperties: 2,
      additionalProperties: { type: "string", minLength: 1 },
    },
    loanTime: { type: "string" },
    loanDays: { type: "integer", minimum: 0, maximum: 4294967295 },
    loan_days: { type: "integer", minimum: 0, maximum: 4294967295 },
  });
});

test("rules of a message apply wherever it is used, except where a field ignores them", async () => {
  const properties = await propertiesOf(`
    message Place {
      option (istiod.crd.message) = {
        at_most_one: { fields: ["row", "room"] }
        rules: { rule: "has(self.row) || has(self.room)", message: "a place is needed" }
      };
      uint32 row = 1; string room = 2;
    }
    Place place = 1;
    Place next_place = 2 [(istiod.crd.field).ignored_rules = "has(self.row) || has(self.room)"];`);
  const exclusion = {
    rule: "(has(self.row) ? 1 : 0) + (has(self.room) ? 1 : 0) <= 1",
    message: "at most one of row and room may be set",
  };
  const needed = { rule: "has(self.row) || has(self.room)", message: "a place is needed" };
  expect(properties?.["place"]?.["x-kubernetes-validations"]).toEqual([exclusion, needed]);
  expect(properties?.["nextPlace"]?.["x-kubernetes-validations"]).toEqual([exclusion]);
});

test("none or one field of a oneof is accepted; several oneofs are independent", async () => {
  const choice = (...names: readonly string[]) => ({
    oneOf: [{ not: { anyOf: names.map((name) => ({ required: [name] })) } }, ...names.map((n) => ({ required: [n] }))],
  });
  expect(await specOf("oneof cover { string soft = 1; string hard = 2; }")).toMatchObject(choice("soft", "hard"));
  expect(
    await specOf("oneof cover { string soft = 1; string hard = 2; } oneof size { string big = 3; string small = 4; }"),
  ).toMatchObject({ allOf: [choice("soft", "hard"), choice("big", "small")] });
});

test("lists that are merged by key", async () => {
  const properties = await propertiesOf(`
    message Copy { string name = 1; }
    repeated Copy copies = 1 [(istiod.crd.field) = { list_type: "map", list_map_key: "name" }];`);
  expect(properties?.["copies"]).toMatchObject({
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
  });
});

test("descriptions are the first paragraphs of comments", async () => {
  const spec = await specOf(`
    // Name on the
    // cover.
    //
    // More about it.
    string title = 1;
    message Shelf {
      // Counted from the top.
      uint32 row = 1;
    }
    // Place in the library.
    Shelf shelf = 2;
    map<string, string> notes = 3;
    // After a map.
    string end = 4;`);
  const descriptions = Object.fromEntries(
    Object.entries(spec.properties ?? {}).map(([name, { description }]) => [name, description]),
  );
  expect(descriptions).toEqual({
    title: "Name on the cover.",
    shelf: "Place in the library.",
    notes: undefined,
    end: "After a map.",
  });
  expect(spec.properties?.["shelf"]?.properties?.["row"]?.description).toBe("Counted from the top.");
});

test("a definition has the names, versions, columns and the status of its kind", async () => {
  const [definition] = await definitionsOf(`message Book {
    option (istiod.crd.resource) = {
      group: "library.example"
      versions: ["v1", "v1beta1"]
      plural: "books"
      short_names: "bk"
      spec_required: true
      columns: { name: "Title", type: "string", path: ".spec.title" }
    };
    string title = 1;
  }`);
  expect(definition).toMatchObject({
    metadata: { name: "books.library.example", annotations: { "helm.sh/resource-policy": "keep" } },
    spec: {
      group: "library.example",
      scope: "Namespaced",
      names: {
        kind: "Book",
        listKind: "BookList",
        plural: "books",
        singular: "book",
        shortNames: ["bk"],
        categories: ["istio-io", "library-example"],
      },
      versions: [
        { name: "v1", served: true, storage: true, subresources: { status: {} } },
        { name: "v1beta1", served: true, storage: false, subresources: { status: {} } },
      ],
    },
  });
  const version = definition?.spec.versions[0];
  expect(version).toMatchObject({
    additionalPrinterColumns: [{ name: "Title", type: "string", jsonPath: ".spec.title" }],
  });
  expect(version?.schema.openAPIV3Schema).toMatchObject({
    required: ["spec"],
    properties: {
      status: {
        "x-kubernetes-preserve-unknown-fields": true,
        properties: {
          observedGeneration: { anyOf: [{ type: "integer" }, { type: "string" }], "x-kubernetes-int-or-string": true },
        },
      },
    },
  });
  expect(version?.schema.openAPIV3Schema.properties?.["status"]?.properties?.["observedGeneration"]).not.toHaveProperty(
    "type",
  );
});

test("a message that contains itself is an error with its name", async () => {
  await expect(specOf("Book sequel = 1;")).rejects.toThrow("istio.meta.v1alpha1.Book");
});
