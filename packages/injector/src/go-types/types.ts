import { containerTypes } from "./container-types.js";
import { gatewayTypes } from "./gateway-types.js";
import { podTypes } from "./pod-types.js";
import { volumeTypes } from "./volume-types.js";
import { workloadTypes } from "./workload-types.js";

/** Scalars of Go, and the Kubernetes types with a JSON form of their own. `any` is JSON that is not checked. */
const scalarNames = ["string", "bool", "int32", "int64", "Quantity", "IntOrString", "Time", "any"] as const;
export type ScalarName = (typeof scalarNames)[number];

/** A type of the Kubernetes API in Go. */
export type FieldType =
  | { readonly kind: "scalar"; readonly name: ScalarName }
  | { readonly kind: "pointer" | "list" | "map"; readonly element: FieldType }
  | { readonly kind: "struct"; readonly name: string };

/** A field of a struct, with what its tags say. */
export interface Field {
  /** Name in Go, which templates use. */
  readonly goName: string;
  readonly jsonName: string;
  readonly type: FieldType;
  /** True if the JSON form omits an empty value. */
  readonly omitsEmpty: boolean;
  /** Strategies of patches, separated by commas: `merge` merges a list with the one that exists. */
  readonly strategy: string;
  /** Field that identifies the elements of a merged list of structs. */
  readonly mergeKey: string | undefined;
  /** Name of the embedded struct that has the field, as templates may use it. */
  readonly embedded: string | undefined;
}

/** A struct, with the fields of embedded structs among its own. */
export interface Struct {
  readonly name: string;
  readonly fields: readonly Field[];
  readonly byJsonName: ReadonlyMap<string, Field>;
}

let parsed: ReadonlyMap<string, readonly string[]> | undefined;
const structs = new Map<string, Struct>();

/**
 * Returns a struct by the name of its Go type. The tables list the types of `k8s.io/api` 0.36, which Istio's injector
 * uses; `test/go-types.test.ts` compares them with Go's.
 */
export function structOf(name: string): Struct {
  const known = structs.get(name);
  if (known !== undefined) return known;
  parsed ??= parseTables(podTypes + containerTypes + volumeTypes + workloadTypes + gatewayTypes);
  const lines = parsed.get(name);
  if (lines === undefined) throw new TypeError(`unknown type ${name}`);
  const fields = lines.flatMap(parseField);
  const struct = { name, fields, byJsonName: new Map(fields.map((field) => [field.jsonName, field])) };
  structs.set(name, struct);
  return struct;
}

/** Names of all structs. */
export function structNames(): readonly string[] {
  structOf("Pod");
  return [...(parsed ?? new Map<string, never>()).keys()];
}

function parseTables(text: string): ReadonlyMap<string, readonly string[]> {
  const tables = new Map<string, string[]>();
  let current: string[] = [];
  for (const line of text.split("\n")) {
    if (line === "") continue;
    if (line.startsWith("  ")) current.push(line.trim());
    else tables.set(line, (current = []));
  }
  return tables;
}

/** Parses `GoName type options`: `?` omits empty values, `merge` and `key:` are those of patches. */
function parseField(line: string): readonly Field[] {
  const [goName = "", typeText = "", ...options] = line.split(" ");
  if (typeText === "inline") return structOf(goName).fields.map((field) => ({ ...field, embedded: goName }));
  const option = (prefix: string): string | undefined =>
    options.find((text) => text.startsWith(prefix))?.slice(prefix.length);
  const type = /^[^?!]*/.exec(typeText)?.[0] ?? "";
  return [
    {
      goName,
      jsonName: option("json:") ?? jsonNameOf(goName),
      type: parseType(type),
      omitsEmpty: typeText !== type,
      strategy: options.find((text) => !text.includes(":")) ?? "",
      mergeKey: option("key:"),
      embedded: undefined,
    },
  ];
}

function parseType(text: string): FieldType {
  if (text.startsWith("*")) return { kind: "pointer", element: parseType(text.slice(1)) };
  if (text.startsWith("[]")) return { kind: "list", element: parseType(text.slice(2)) };
  const map = "map[string]";
  if (text.startsWith(map)) return { kind: "map", element: parseType(text.slice(map.length)) };
  const scalar = scalarNames.find((name) => name === text);
  return scalar === undefined ? { kind: "struct", name: text } : { kind: "scalar", name: scalar };
}

/** Returns the usual JSON name: the first word in lower case (`HTTPGet`: `httpGet`). */
function jsonNameOf(goName: string): string {
  const initial = /^[A-Z]+/.exec(goName)?.[0] ?? "";
  const length = initial.length > 1 && initial.length < goName.length ? initial.length - 1 : initial.length;
  return goName.slice(0, length).toLowerCase() + goName.slice(length);
}
