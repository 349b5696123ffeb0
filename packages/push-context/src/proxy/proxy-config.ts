import { type JsonObject, type JsonValue, fromJson } from "@bufbuild/protobuf";
import { fact, type QueryContext } from "@istiod/incremental";
import { type ProxyConfig, ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { mesh } from "../mesh/mesh-config.js";
import type { Proxy } from "./proxy.js";

/** A field of ProxyConfig by its name in TypeScript; a oneof is one field. */
export type ProxyConfigField = Exclude<keyof ProxyConfig, "$typeName" | "$unknown">;

/** Reports whether the node reports a ProxyConfig, which replaces the mesh's default as a whole. */
const reportsProxyConfig = fact("reportsProxyConfig", (proxy: Proxy) => proxy.metadata.PROXY_CONFIG !== undefined);

/** A field of the ProxyConfig that the node reports, as JSON text. */
const reportedProxyConfig = fact("reportedProxyConfig", (proxy: Proxy, field: ProxyConfigField) =>
  JSON.stringify(pick(proxy.metadata.PROXY_CONFIG ?? {}, jsonNames(field))),
);

/**
 * Returns a field of the client's ProxyConfig: the one that its node reports (`PROXY_CONFIG`), else the mesh's
 * `defaultConfig` (pkg/model/proxy.go, ProxyConfigOrDefault). Clients with equal values share results.
 */
export function proxyConfig<F extends ProxyConfigField>(q: QueryContext, field: F): ProxyConfig[F] | undefined {
  if (!q.ask(reportsProxyConfig)) {
    return mesh(q).defaultConfig?.[field];
  }
  const reported = JSON.parse(q.ask(reportedProxyConfig, field)) as JsonObject;
  return fromJson(ProxyConfigSchema, reported, { ignoreUnknownFields: true })[field];
}

function jsonNames(field: ProxyConfigField): readonly string[] {
  return ProxyConfigSchema.fields
    .filter((candidate) => candidate.localName === field || candidate.oneof?.localName === field)
    .flatMap((candidate) => [candidate.jsonName, candidate.name]);
}

function pick(object: JsonObject, names: readonly string[]): Record<string, JsonValue> {
  return Object.fromEntries(names.flatMap((name) => (object[name] === undefined ? [] : [[name, object[name]]])));
}
