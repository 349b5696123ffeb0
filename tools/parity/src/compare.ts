import { fromBinary, fromJson, toJson, type DescMessage, type JsonValue } from "@bufbuild/protobuf";
import { type JsonDifference, jsonDifferences, messageRegistry } from "@istiod/explain";
import { isObject, nameOf, type Json, type JsonObject, type Type } from "./scenario.js";

const registry = messageRegistry();

const messages: Readonly<Record<Type, string>> = {
  cds: "envoy.config.cluster.v3.Cluster",
  eds: "envoy.config.endpoint.v3.ClusterLoadAssignment",
  lds: "envoy.config.listener.v3.Listener",
  rds: "envoy.config.route.v3.RouteConfiguration",
  ecds: "envoy.config.core.v3.TypedExtensionConfig",
  nds: "istio.networking.nds.v1.NameTable",
};

/** Lists whose order means nothing. */
const unordered: Partial<Record<Type, readonly string[]>> = {
  eds: ["lbEndpoints"],
  rds: ["queryParameters", "dynamicMetadata"],
};

function schemaOf(t: Type): DescMessage {
  const schema = registry.getMessage(messages[t]);
  if (!schema) throw new Error(`no message type ${messages[t]}`);
  return schema;
}

/** Recorded JSON in one normal form: decoded and encoded again, keys sorted, unordered lists sorted. */
export function normalExpected(t: Type, r: JsonObject): Json {
  const found = known.get(r);
  if (found !== undefined) return found;
  const { "@type": _, ...rest } = r;
  const made = normal(
    t,
    toJson(schemaOf(t), fromJson(schemaOf(t), rest as JsonValue, { registry }), { registry }) as Json,
  );
  known.set(r, made);
  return made;
}

/** Normal forms of recorded resources: many scenarios share those of their base. */
const known = new WeakMap<JsonObject, Json>();

/** The bytes of a resource in the same form. */
export function normalActual(t: Type, bytes: Uint8Array): Json {
  return normal(t, toJson(schemaOf(t), fromBinary(schemaOf(t), bytes), { registry }) as Json);
}

function normal(t: Type, value: Json, field = ""): Json {
  if (Array.isArray(value)) {
    const items = value.map((v) => normal(t, v));
    return unordered[t]?.includes(field)
      ? items
          .map((v) => [JSON.stringify(v), v] as const)
          .sort((a, b) => (a[0] < b[0] ? -1 : 1))
          .map((p) => p[1])
      : items;
  }
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((k) => [k, normal(t, value[k] ?? null, k)]),
  );
}

/** The resources of one proxy and type, compared. */
export interface Comparison {
  readonly expected: number;
  readonly equal: number;
  readonly missing: readonly string[];
  readonly extra: readonly string[];
  readonly different: ReadonlyMap<string, readonly JsonDifference[]>;
}

export function compareResources(
  t: Type,
  expected: readonly JsonObject[],
  actual: ReadonlyMap<string, Uint8Array>,
): Comparison {
  const want = new Map(expected.map((r) => [nameOf(t, r), r]));
  const different = new Map<string, readonly JsonDifference[]>();
  const missing: string[] = [];
  let equal = 0;
  for (const [name, r] of want) {
    const bytes = actual.get(name);
    if (!bytes) missing.push(name);
    else {
      const found = jsonDifferences(normalExpected(t, r), normalActual(t, bytes));
      if (found.length === 0) equal++;
      else different.set(name, found);
    }
  }
  return { expected: want.size, equal, missing, extra: [...actual.keys()].filter((n) => !want.has(n)), different };
}
