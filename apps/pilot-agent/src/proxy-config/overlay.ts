import { fromJson, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { decodeTolerantly, formatPath } from "@istiod/config-schema/decoding";
import { type ProxyConfig, ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { reasonOf } from "@istiod/runtime";
import { parse } from "yaml";
import { AgentError } from "../errors.js";

/** Maps whose entries are merged. All other fields of an overlay replace the base's. */
const MERGED: readonly string[] = ["proxyMetadata"];

/** Fields of `proxyHeaders` that an overlay inherits if it does not set them. */
const KEPT_HEADERS = ["forwardedClientCert", "requestId", "attemptCount", "server", "envoyDebugHeaders"];

/** Fields that name a bootstrap of one's own, which the agent does not use. */
const BOOTSTRAP_FILES = ["customConfigFile", "proxyBootstrapTemplatePath"] as const;

/**
 * Overrides a proxy configuration with YAML, as Istio does: fields are replaced, `proxyMetadata` is merged.
 *
 * @param source name of the YAML's source, for errors and warnings
 * @param warn called with each field that is ignored
 * @throws AgentError `configuration`
 */
export function overlay(base: ProxyConfig, yaml: string, source: string, warn: Warn = () => undefined): ProxyConfig {
  const given = readYaml(yaml, source);
  if (given === undefined) return base;
  const over = toJson(ProxyConfigSchema, decode(given, source, warn)) as JsonObject;
  const before = toJson(ProxyConfigSchema, base) as JsonObject;
  return fromJson(ProxyConfigSchema, merge(before, { ...zeroValues(given), ...over }));
}

/** Receives a warning about a proxy configuration. */
export type Warn = (message: string) => void;

/** Decodes a proxy configuration. Unknown fields are ignored with a warning. @throws AgentError `configuration` */
function decode(given: JsonObject, source: string, warn: Warn): ProxyConfig {
  const faults: string[] = [];
  const config = decodeTolerantly(ProxyConfigSchema, given, {
    error: (path, message) => faults.push(`${formatPath(path)} ${message}`.trim()),
    warning: (path, message) => warn(`${source}: ${formatPath(path)} ${message}`),
  });
  if (config !== undefined) {
    for (const field of BOOTSTRAP_FILES)
      if (config[field] !== "")
        warn(`${source}: ${field} is ignored: Envoy starts with the generated bootstrap; use ISTIO_BOOTSTRAP_OVERRIDE`);
    return config;
  }
  throw new AgentError("configuration", `${source}: invalid proxy configuration: ${faults.join(", ")}`);
}

/** Overrides a proxy configuration with `defaultConfig` of a mesh configuration. @throws AgentError `configuration` */
export function overlayMesh(base: ProxyConfig, yaml: string, source: string, warn?: Warn): ProxyConfig {
  const mesh = readYaml(yaml, source);
  const inner = mesh?.["defaultConfig"] ?? mesh?.["default_config"];
  return inner === undefined || inner === null
    ? base
    : overlay(base, JSON.stringify(inner), `${source}: defaultConfig`, warn);
}

function readYaml(yaml: string, source: string): JsonObject | undefined {
  let value: unknown;
  try {
    value = parse(yaml, { maxAliasCount: 100 });
  } catch (error) {
    throw new AgentError("configuration", `${source}: invalid YAML: ${reasonOf(error)}`, { cause: error });
  }
  if (value === null || value === undefined) return undefined;
  if (typeof value !== "object" || Array.isArray(value))
    throw new AgentError("configuration", `${source}: must be a map`);
  return value as JsonObject;
}

/** Returns scalars set to their zero value, such as `statusPort: 0` or `NONE`. protobuf's JSON omits them. */
function zeroValues(given: JsonObject): JsonObject {
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
