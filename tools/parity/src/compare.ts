import { createRegistry, fromBinary, fromJson, toJson, type DescMessage, type JsonValue, type Registry } from "@bufbuild/protobuf";
import { registry as envoy } from "@istiod/envoy-api/registry";
import { registry as istio } from "@istiod/istio-api/registry";
import * as wellKnown from "@bufbuild/protobuf/wkt";
import { isObject, nameOf, type Json, type JsonObject, type Type } from "./scenario.js";

/** Every message type that a resource can hold. */
export const registry: Registry = createRegistry(
  ...envoy,
  ...istio,
  ...Object.values(wellKnown).filter((v) => typeof v === "object" && "kind" in v && v.kind === "message"),
);

const messages: Readonly<Record<Type, string>> = {
  cds: "envoy.config.cluster.v3.Cluster",
  eds: "envoy.config.endpoint.v3.ClusterLoadAssignment",
  lds: "envoy.config.listener.v3.Listener",
  rds: "envoy.config.route.v3.RouteConfiguration",
  ecds: "envoy.config.core.v3.TypedExtensionConfig",
  nds: "istio.networking.nds.v1.NameTable",
};

/** Lists whose order means nothing. */
const unordered: Partial<Record<Type, readonly string[]>> = { eds: ["lbEndpoints"], rds: ["queryParameters", "dynamicMetadata"] };

function schemaOf(t: Type): DescMessage {
  const schema = registry.getMessage(messages[t]);
  if (!schema) throw new Error(`no message type ${messages[t]}`);
  return schema;
}

/** Recorded JSON in one normal form: decoded and encoded again, keys sorted, unordered lists sorted. */
export function normalExpected(t: Type, r: JsonObject): Json {
  const { "@type": _, ...rest } = r;
  return normal(t, toJson(schemaOf(t), fromJson(schemaOf(t), rest as JsonValue, { registry }), { registry }) as Json);
}

/** The bytes of a resource in the same form. */
export function normalActual(t: Type, bytes: Uint8Array): Json {
  return normal(t, toJson(schemaOf(t), fromBinary(schemaOf(t), bytes), { registry }) as Json);
}

function normal(t: Type, value: Json, field = ""): Json {
  if (Array.isArray(value)) {
    const items = value.map((v) => normal(t, v));
    return unordered[t]?.includes(field) ? items.map((v) => [JSON.stringify(v), v] as const).sort((a, b) => (a[0] < b[0] ? -1 : 1)).map((p) => p[1]) : items;
  }
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.keys(value).sort().map((k) => [k, normal(t, value[k] ?? null, k)]));
}

/** One place where two values differ. Kind `order` says that a list holds the same in another order. */
export interface Difference {
  readonly path: string;
  readonly kind: "missing" | "extra" | "different" | "order";
  readonly expected?: Json | undefined;
  readonly actual?: Json | undefined;
}

/** Where two normal forms differ; elements of lists are matched by name where they all have one. */
export function differences(expected: Json | undefined, actual: Json | undefined, path = ""): Difference[] {
  if (JSON.stringify(expected) === JSON.stringify(actual)) return [];
  if (expected === undefined) return [{ path, kind: "extra", actual }];
  if (actual === undefined) return [{ path, kind: "missing", expected }];
  if (Array.isArray(expected) && Array.isArray(actual)) return inLists(expected, actual, path);
  if (isObject(expected) && isObject(actual)) {
    const keys = [...new Set([...Object.keys(expected), ...Object.keys(actual)])];
    return keys.flatMap((k) => differences(expected[k], actual[k], `${path}/${k}`));
  }
  return [{ path, kind: "different", expected, actual }];
}

function inLists(expected: Json[], actual: Json[], path: string): Difference[] {
  const a = named(expected);
  const b = named(actual);
  if (!a || !b) {
    const n = Math.max(expected.length, actual.length);
    return Array.from({ length: n }, (_, i) => differences(expected[i], actual[i], `${path}/${i}`)).flat();
  }
  const keys = [...new Set([...a.keys(), ...b.keys()])];
  const found = keys.flatMap((k) => differences(a.get(k), b.get(k), `${path}/[${k}]`));
  return found.length > 0 ? found : [{ path, kind: "order", expected: [...a.keys()], actual: [...b.keys()] }];
}

function named(list: Json[]): Map<string, Json> | undefined {
  const out = new Map<string, Json>();
  for (const v of list) {
    if (!isObject(v) || typeof v["name"] !== "string" || out.has(v["name"])) return undefined;
    out.set(v["name"], v);
  }
  return out;
}

/** The resources of one proxy and type, compared. */
export interface Comparison {
  readonly expected: number;
  readonly equal: number;
  readonly missing: readonly string[];
  readonly extra: readonly string[];
  readonly different: ReadonlyMap<string, readonly Difference[]>;
}

export function compareResources(t: Type, expected: readonly JsonObject[], actual: ReadonlyMap<string, Uint8Array>): Comparison {
  const want = new Map(expected.map((r) => [nameOf(t, r), r]));
  const different = new Map<string, readonly Difference[]>();
  const missing: string[] = [];
  let equal = 0;
  for (const [name, r] of want) {
    const bytes = actual.get(name);
    if (!bytes) missing.push(name);
    else {
      const found = differences(normalExpected(t, r), normalActual(t, bytes));
      if (found.length === 0) equal++;
      else different.set(name, found);
    }
  }
  return { expected: want.size, equal, missing, extra: [...actual.keys()].filter((n) => !want.has(n)), different };
}
