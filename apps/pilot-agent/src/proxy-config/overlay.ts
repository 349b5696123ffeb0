import { fromJson, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { type ProxyConfig, ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { parse } from "yaml";
import { AgentError, reasonOf } from "../errors.js";

/** Maps whose entries are merged; every other field that an overlay names is replaced whole. */
const MERGED: readonly string[] = ["proxyMetadata"];

/** Header settings that an overlay keeps where it sets others. */
const KEPT_HEADERS = ["forwardedClientCert", "requestId", "attemptCount", "server", "envoyDebugHeaders"];

/**
 * Lays YAML over a proxy configuration as Istio does: fields that the text names replace, `proxyMetadata` merges.
 *
 * @param what names the text in messages
 * @throws AgentError `configuration`
 */
export function overlay(base: ProxyConfig, yaml: string, what: string): ProxyConfig {
  const given = readYaml(yaml, what);
  if (given === undefined) return base;
  try {
    const before = toJson(ProxyConfigSchema, base) as JsonObject;
    const over = toJson(
      ProxyConfigSchema,
      fromJson(ProxyConfigSchema, given, { ignoreUnknownFields: true }),
    ) as JsonObject;
    return fromJson(ProxyConfigSchema, merge(before, { ...zeroes(given), ...over }));
  } catch (error) {
    throw new AgentError("configuration", `${what}: not a proxy configuration: ${reasonOf(error)}`, { cause: error });
  }
}

/**
 * The proxy configuration inside a mesh configuration, `defaultConfig`, laid over the base. @throws AgentError
 * `configuration`
 */
export function overlayMesh(base: ProxyConfig, yaml: string, what: string): ProxyConfig {
  const mesh = readYaml(yaml, what);
  const inner = mesh?.["defaultConfig"] ?? mesh?.["default_config"];
  return inner === undefined || inner === null ? base : overlay(base, JSON.stringify(inner), `${what}: defaultConfig`);
}

function readYaml(yaml: string, what: string): JsonObject | undefined {
  let value: unknown;
  try {
    value = parse(yaml, { maxAliasCount: 100 });
  } catch (error) {
    throw new AgentError("configuration", `${what}: not YAML: ${reasonOf(error)}`, { cause: error });
  }
  if (value === null || value === undefined) return undefined;
  if (typeof value !== "object" || Array.isArray(value))
    throw new AgentError("configuration", `${what}: a map of fields is expected`);
  return value as JsonObject;
}

/**
 * Scalars that are given as zero vanish in protobuf's JSON, yet they override: `statusPort: 0`, `concurrency: 0`,
 * `NONE`.
 */
function zeroes(given: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(given)
      .filter(([, value]) => value === 0 || value === "" || value === false || value === "NONE")
      .map(([key, value]) => [camelCase(key), value]),
  );
}

function merge(base: JsonObject, over: JsonObject): JsonObject {
  const merged: Record<string, JsonValue> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    if (key === "tracingServiceName") delete merged["serviceCluster"];
    if (key === "serviceCluster") delete merged["tracingServiceName"];
    merged[key] = MERGED.includes(key) ? { ...asObject(base[key]), ...asObject(value) } : value;
  }
  const [before, after] = [asObject(base["proxyHeaders"]), asObject(over["proxyHeaders"])];
  if (over["proxyHeaders"] !== undefined) {
    const kept = KEPT_HEADERS.filter((key) => before[key] !== undefined && after[key] === undefined).map((key) => [
      key,
      before[key] as JsonValue,
    ]);
    merged["proxyHeaders"] = { ...after, ...Object.fromEntries(kept) };
  }
  return merged;
}

function asObject(value: JsonValue | undefined): JsonObject {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
