import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { type DescMessage, equals, fromBinary, fromJson, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf";
import { registry } from "@istiod/istio-api/registry";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { filesBelow, sharedFolder } from "./shared.js";

const messages = [...registry].filter((type): type is DescMessage => type.kind === "message");

/** Returns the message of a kind's `spec`: of the package of its group, such as `istio.networking.v1alpha3`. */
function schemaOf(apiVersion: string, kind: string): DescMessage | undefined {
  const [group] = apiVersion.split(".istio.io/");
  return messages.find(
    ({ name, parent, file }) =>
      name === kind && parent === undefined && file.proto.package.startsWith(`istio.${group}.`),
  );
}

/** Returns the differences of a message after a round trip through bytes and through JSON. */
function roundTrip(schema: DescMessage, json: JsonValue): string | undefined {
  try {
    const read = fromJson(schema, json, { registry });
    if (!equals(schema, read, fromBinary(schema, toBinary(schema, read)), { registry })) return "differs after bytes";
    if (!equals(schema, read, fromJson(schema, toJson(schema, read, { registry }), { registry }), { registry }))
      return "differs after JSON";
    return undefined;
  } catch (error) {
    return String(error);
  }
}

interface KubernetesObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly spec?: JsonValue;
  readonly items?: readonly KubernetesObject[];
}

/** With durations in hours and minutes, which YAML for Istio may have and JSON of protobuf has not, in seconds. */
function inSeconds(json: JsonValue): JsonValue {
  if (typeof json === "string")
    return json.replace(/^(\d+)([hm])$/, (_, n: string, unit: string) => `${Number(n) * (unit === "h" ? 3600 : 60)}s`);
  if (json === null || typeof json !== "object") return json;
  if (Array.isArray(json)) return json.map(inSeconds);
  return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, inSeconds(value)]));
}

function objectsOf(text: string): readonly KubernetesObject[] {
  return parseAllDocuments(text).flatMap((document) => {
    const object = (document.errors.length > 0 ? null : document.toJS()) as KubernetesObject | null;
    return object === null ? [] : (object.items ?? [object]);
  });
}

/** Every `Any` within JSON that is of a type of ours. */
function openAnys(
  json: JsonValue,
  found: { readonly schema: DescMessage; readonly json: JsonValue }[] = [],
): typeof found {
  if (json === null || typeof json !== "object") return found;
  if (!Array.isArray(json)) {
    const type = json["@type"];
    const schema = typeof type === "string" ? registry.getMessage(type.slice(type.lastIndexOf("/") + 1)) : undefined;
    if (schema !== undefined)
      found.push({ schema, json: Object.fromEntries(Object.entries(json).filter(([key]) => key !== "@type")) });
  }
  for (const value of Object.values(json)) openAnys(value, found);
  return found;
}

describe.each(["scenarios", "cases", "peer/samples"].map((name) => ({ name, folder: sharedFolder(name) })))(
  "reference data of $name",
  ({ name, folder }) => {
    it("objects and mesh configurations are unchanged by a round trip through bytes and JSON", ({ skip }) => {
      if (folder === undefined) return skip(`no ../shared/${name} beside the repository`);
      const wrong: string[] = [];
      let read = 0;
      const check = (file: string, schema: DescMessage | undefined, json: JsonValue): void => {
        if (schema === undefined) return;
        read++;
        const problem = roundTrip(schema, inSeconds(json));
        if (problem !== undefined) wrong.push(`${relative(folder, file)}: ${schema.typeName}: ${problem}`);
      };
      for (const file of filesBelow(folder, ".yaml")) {
        const text = readFileSync(file, "utf8");
        if (file.endsWith("/mesh.yaml"))
          check(file, registry.getMessage("istio.mesh.v1alpha1.MeshConfig"), (parse(text) as JsonValue | null) ?? {});
        else if (file.endsWith("/networks.yaml"))
          check(file, registry.getMessage("istio.mesh.v1alpha1.MeshNetworks"), (parse(text) as JsonValue | null) ?? {});
        else
          for (const { apiVersion = "", kind = "", spec = {} } of objectsOf(text))
            check(file, schemaOf(apiVersion, kind), spec);
      }
      console.log(`${read} messages were read`);
      expect(wrong).toEqual([]);
      expect(read).toBeGreaterThan(0);
    });

    it("messages of Istio's filters and name tables are decoded from responses", ({ skip }) => {
      if (folder === undefined) return skip(`no ../shared/${name} beside the repository`);
      const wrong: string[] = [];
      const types = new Map<string, number>();
      for (const file of filesBelow(folder, ".json")) {
        if (!/\.(?:cds|lds|ecds|nds)\.json$/.test(file)) continue;
        for (const { schema, json } of openAnys(JSON.parse(readFileSync(file, "utf8")) as JsonValue)) {
          types.set(schema.typeName, (types.get(schema.typeName) ?? 0) + 1);
          const problem = roundTrip(schema, json);
          if (problem !== undefined) wrong.push(`${relative(folder, file)}: ${schema.typeName}: ${problem}`);
        }
      }
      if (types.size > 0) console.log(Object.fromEntries(types));
      expect(wrong).toEqual([]);
    });
  },
);
