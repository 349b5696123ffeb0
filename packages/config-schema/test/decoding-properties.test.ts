import {
  create,
  equals,
  fromBinary,
  toBinary,
  toJson,
  type DescField,
  type DescMessage,
  type Message,
} from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { allKinds, istioKinds, readText } from "@istiod/config-schema";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { decodeMessage } from "../src/decoding/decode-message.js";
import type { Report } from "../src/decoding/report.js";

describe("reading never throws", () => {
  const sample =
    "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: a, namespace: b, labels: {x: y}}\nspec:\n  hosts: [a.b]\n  http:\n  - match: [{uri: {prefix: /x}}]\n    route: [{destination: {host: a.b, port: {number: 80}}, weight: 3}]\n    timeout: 5s\n---\napiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80, name: http}], selector: {a: b}}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {tls.crt: YQ==}\n";

  test("of any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => void readText(text, "f")),
      { numRuns: 500 },
    );
  });

  test("of documents cut, spliced and sprinkled with other characters", () => {
    const edit = fc.tuple(
      fc.nat(sample.length),
      fc.nat(12),
      fc.oneof(
        fc.string({ maxLength: 6 }),
        fc.constantFrom(
          "null",
          "[]",
          "{}",
          "\n",
          "  ",
          ": ",
          "- ",
          "1",
          "-1",
          "1e99",
          "''",
          "*a",
          "&a ",
          "!!binary ",
          "? ",
          "---\n",
          "<<: ",
        ),
      ),
    );
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 4 }), (edits) => {
        let text = sample;
        for (const [at, length, insert] of edits) text = text.slice(0, at) + insert + text.slice(at + length);
        void readText(text, "f");
      }),
      { numRuns: 600 },
    );
  });

  test("of objects of every kind with any values", () => {
    const json = fc.jsonValue({ maxDepth: 4 });
    const document = fc.record({
      kind: fc.constantFrom(...allKinds),
      metadata: fc.oneof(fc.constant({ name: "a", namespace: "b" }), json),
      body: fc.oneof(
        json,
        fc.dictionary(
          fc.constantFrom("spec", "status", "data", "stringData", "type", "endpoints", "ports", "addressType"),
          fc.oneof(
            json,
            fc.dictionary(
              fc.constantFrom(
                "ports",
                "hosts",
                "http",
                "tls",
                "selector",
                "containers",
                "addresses",
                "rules",
                "servers",
                "host",
                "subsets",
                "egress",
                "jwtRules",
              ),
              json,
            ),
          ),
        ),
      ),
    });
    fc.assert(
      fc.property(document, ({ kind, metadata, body }) => {
        const object = {
          ...(typeof body === "object" && body),
          apiVersion: `${kind.group === "" ? "" : `${kind.group}/`}${kind.versions[0]}`,
          kind: kind.kind,
          metadata,
        };
        void readText(JSON.stringify(object), "f");
      }),
      { numRuns: 1000 },
    );
  });
});

describe("decoding what was encoded", () => {
  const schemas = istioKinds.map(({ kind, schema }) => {
    if (schema === undefined) throw new Error(`${kind} has no schema, expected the message of its spec`);
    return { kind, schema };
  });

  test.each(schemas)("$kind gives the same message", ({ schema }) => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const message = randomMessage(schema, numbers(seed), 4);
        const reports: string[] = [];
        const report: Report = {
          error: (path, text) => void reports.push(`${path.join(".")}: ${text}`),
          warning: () => undefined,
        };
        const yaml = stringify({ spec: toJson(schema, message) }, { version: "1.1" });
        const parsed = readBack(yaml);
        const decoded = decodeMessage(schema, parsed, ["spec"], report);
        expect(reports).toEqual([]);
        expect(decoded !== undefined && equals(schema, decoded, fromBinary(schema, toBinary(schema, message)))).toBe(
          true,
        );
      }),
      { numRuns: 30 },
    );
  });
});

function readBack(yaml: string): unknown {
  let found: unknown;
  const probe = {
    ...allKinds[0],
    kind: "Probe",
    group: "",
    versions: ["v1"],
    scope: "cluster" as const,
    key: () => "probe",
    decode: (manifest: { body: Record<string, unknown> }) => ((found = manifest.body["spec"]), undefined),
  };
  readText(`apiVersion: v1\nkind: Probe\nmetadata: {name: x}\n${yaml}`, "f", {
    kinds: [probe as unknown as (typeof allKinds)[number]],
  });
  return found;
}

/** Numbers from 0 to 1 that a seed determines (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** A message with some of its fields set. */
function randomMessage(schema: DescMessage, random: () => number, depth: number): Message {
  const message = create(schema);
  switch (schema.typeName) {
    case "google.protobuf.Duration":
      return Object.assign(message, {
        seconds: BigInt(Math.floor(random() * 1000)),
        nanos: Math.floor(random() * 1000) * 1_000_000,
      });
    case "google.protobuf.Timestamp":
      return Object.assign(message, { seconds: BigInt(Math.floor(random() * 1e9)) });
    case "google.protobuf.Struct":
    case "google.protobuf.Value":
    case "google.protobuf.Any":
      return message;
    default:
  }
  const target = reflect(schema, message, false);
  for (const field of schema.fields) {
    if (
      random() < 0.5 ||
      (field.message?.typeName.startsWith("google.protobuf.") === true &&
        ["Struct", "Value", "Any"].some((n) => field.message?.typeName.endsWith(n)))
    )
      continue;
    const value = (): unknown => randomValue(field, random, depth);
    if (depth === 0 && field.message !== undefined) continue;
    if (field.fieldKind === "list")
      for (let n = Math.floor(random() * 3); n > 0; n--) target.get(field).add(value() as never);
    else if (field.fieldKind === "map")
      target
        .get(field)
        .set(
          (field.mapKey === 9 ? `k${Math.floor(random() * 9)}` : Math.floor(random() * 99)) as never,
          value() as never,
        );
    else target.set(field, value() as never);
  }
  return message;
}

function randomValue(field: DescField, random: () => number, depth: number): unknown {
  if (field.message !== undefined)
    return reflect(field.message, randomMessage(field.message, random, depth - 1), false);
  if (field.enum !== undefined) return field.enum.values[Math.floor(random() * field.enum.values.length)]?.number;
  switch (field.scalar) {
    case 9:
      return ["", "a", "yes", "1", "x y", "é", "a: b", "*"][Math.floor(random() * 8)];
    case 8:
      return random() < 0.5;
    case 12:
      return new Uint8Array([Math.floor(random() * 256)]);
    case 1:
    case 2:
      return Math.fround(random() * 100);
    case 3:
    case 4:
    case 6:
    case 16:
    case 18:
      return BigInt(Math.floor(random() * 1e6));
    default:
      return Math.floor(random() * 1e6);
  }
}
