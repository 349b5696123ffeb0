import { fromBinary } from "@bufbuild/protobuf";
import type { Finding } from "@istiod/analysis";
import { meshConfigKey, telemetryKind } from "@istiod/config-schema";
import { TrafficDirection } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { type Listener, ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import type { View } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import type { Resource } from "@istiod/resources";
import { type UnservedProvider, unservedProviders } from "@istiod/xds-generators";
import { formatFieldPath } from "../provenance/editable-value.js";
import { ignoredConfig, type IgnoredConfig, objectReference } from "./ignored-config.js";

/** Returns the providers for traces and logs that have no effect at a listener. */
export function providersWithoutEffect(view: View<Proxy>, resource: Resource): readonly IgnoredConfig[] {
  const providers = view.call(unservedProviders);
  if (providers.length === 0) return [];
  const listener = fromBinary(ListenerSchema, resource.bytes);
  const isInbound = listener.trafficDirection === TrafficDirection.INBOUND;
  const own = view.client.type === "router" ? "gateway" : isInbound ? "sidecar-inbound" : "sidecar-outbound";
  const isHttp = hasHttp(listener);
  return providers
    .filter(({ section, listeners }) => listeners.includes(own) && (isHttp || section === "accessLogging"))
    .map(unservedProviderPart);
}

/** Traces are of HTTP requests only. */
function hasHttp({ filterChains, defaultFilterChain }: Listener): boolean {
  const chains = defaultFilterChain === undefined ? filterChains : [...filterChains, defaultFilterChain];
  return chains.some(({ filters }) =>
    filters.some(({ configType: { case: type, value } }) =>
      type === "typedConfig" ? value.typeUrl.endsWith(".HttpConnectionManager") : false,
    ),
  );
}

/** Describes the field that names a provider without effect. */
export function unservedProviderPart(unserved: UnservedProvider): IgnoredConfig & { readonly field: string } {
  const { kind, namespace, name } = originOfProvider(unserved);
  const field = formatFieldPath(unserved.path);
  const reason = `${field} has no effect: ${unserved.reason}`;
  return { ...ignoredConfig(kind, `${namespace}/${name}`, reason, { field }), field };
}

/** Returns the object that names a provider: a Telemetry, or the mesh configuration. */
export function originOfProvider({ telemetry }: Pick<UnservedProvider, "telemetry">): Finding["origin"] {
  if (telemetry === undefined)
    return { group: "", kind: "MeshConfig", namespace: "istio-system", name: "meshconfig", key: meshConfigKey };
  const { group, kind } = telemetryKind;
  return { group, ...objectReference(kind, telemetry), key: telemetry };
}
