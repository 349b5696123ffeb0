import { clone } from "@bufbuild/protobuf";
import { collection } from "@istiod/incremental";
import {
  MeshConfig_DefaultProvidersSchema,
  MeshConfigSchema,
  type MeshConfig,
} from "@istiod/istio-api/mesh/v1alpha1/config";
import { ProxyConfigSchema, type ProxyConfig } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { record } from "../decoding/json.js";
import type { Report } from "../decoding/report.js";
import { reportIneffectiveFields } from "../effect/ineffective-fields.js";
import { Place } from "../validation/place.js";
import { checkExtensionProviders } from "./check-extension-providers.js";
import { checkMeshConfig } from "./check-mesh-config.js";
import { defaultMeshConfig } from "./mesh-defaults.js";
import { decodeTolerantly } from "../decoding/decode-tolerantly.js";
import { override } from "./override.js";

/** The mesh configuration with defaults applied, under `meshConfigKey`. */
export const meshConfig = collection<MeshConfig>("MeshConfig");

export const meshConfigKey = "mesh";

/**
 * Applies a document to a base mesh configuration. A field of the document replaces the base's field, except that
 * `defaultConfig` and `defaultProviders` are merged by field, `proxyMetadata` and `proxyHeaders` by entry, and
 * `extensionProviders` by name, and `trustDomainAliases` are united and sorted. Unknown fields are warnings. Returns
 * undefined if it reported an error. Default base: Istio's defaults. (`pkg/config/mesh`, `ApplyMeshConfig`.)
 */
export function applyMeshConfig(
  document: unknown,
  report: Report,
  base: MeshConfig = defaultMeshConfig(),
): MeshConfig | undefined {
  const merged = clone(MeshConfigSchema, base);
  const json = record(document ?? {});
  if (json === undefined) {
    report.error([], "is not a mapping, expected fields of the mesh configuration");
    return undefined;
  }
  const given = decodeTolerantly(MeshConfigSchema, json, report);
  if (given === undefined) return undefined;
  reportIneffectiveFields(MeshConfigSchema, given, report);
  override(MeshConfigSchema, merged, given, json);
  merged.defaultConfig = base.defaultConfig;
  if (given.defaultConfig !== undefined)
    merged.defaultConfig = mergeProxyConfig(
      base.defaultConfig,
      given.defaultConfig,
      record(json["defaultConfig"] ?? json["default_config"]) ?? {},
    );
  merged.defaultProviders = base.defaultProviders;
  if (given.defaultProviders !== undefined && merged.defaultProviders !== undefined) {
    merged.defaultProviders = clone(MeshConfig_DefaultProvidersSchema, merged.defaultProviders);
    override(
      MeshConfig_DefaultProvidersSchema,
      merged.defaultProviders,
      given.defaultProviders,
      record(json["defaultProviders"] ?? json["default_providers"]) ?? {},
    );
  }
  merged.extensionProviders = mergeByName(base.extensionProviders, given.extensionProviders);
  merged.trustDomainAliases = [...new Set([...base.trustDomainAliases, ...given.trustDomainAliases])].sort();
  let rejected = false;
  const watched: Report = {
    warning: report.warning,
    error: (path, message) => {
      rejected = true;
      report.error(path, message);
    },
  };
  checkMeshConfig(merged, Place.of(watched, []));
  // By the indexes and names that the document has, which merging changes.
  checkExtensionProviders(given.extensionProviders, Place.of(watched, ["extensionProviders"]));
  return rejected ? undefined : merged;
}

/**
 * Decodes the proxy configuration that a proxy reports. Unknown fields are warnings; durations may be in Go's form.
 * Returns undefined if it reported an error.
 */
export function readProxyConfig(json: unknown, report: Report): ProxyConfig | undefined {
  return decodeTolerantly(ProxyConfigSchema, json, report);
}

/**
 * Returns a base proxy configuration with the fields of `json` set, whose message is `given`. The arguments are not
 * changed.
 */
export function mergeProxyConfig(
  base: ProxyConfig | undefined,
  given: ProxyConfig,
  json: Readonly<Record<string, unknown>>,
): ProxyConfig {
  if (base === undefined) return given;
  const merged = clone(ProxyConfigSchema, base);
  override(ProxyConfigSchema, merged, given, json);
  merged.proxyMetadata = { ...base.proxyMetadata, ...given.proxyMetadata };
  if (base.proxyHeaders !== undefined && merged.proxyHeaders !== undefined) {
    const headers = merged.proxyHeaders;
    const before = base.proxyHeaders;
    if (headers.forwardedClientCert === 0) headers.forwardedClientCert = before.forwardedClientCert;
    headers.requestId ??= before.requestId;
    headers.attemptCount ??= before.attemptCount;
    headers.server ??= before.server;
    headers.envoyDebugHeaders ??= before.envoyDebugHeaders;
  }
  return merged;
}

function mergeByName<P extends { readonly name: string }>(base: readonly P[], given: readonly P[]): P[] {
  const merged = [...base];
  for (const provider of given) {
    const at = merged.findIndex((p) => p.name === provider.name);
    if (at < 0) merged.push(provider);
    else merged[at] = provider;
  }
  return merged;
}
