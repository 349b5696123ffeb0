import {
  envoyFilterKind,
  gatewayApiKinds,
  type Kind,
  proxyConfigKind,
  trafficExtensionKind,
  wasmPluginKind,
  workloadGroupKind,
} from "@istiod/config-schema";

/**
 * Kinds whose objects are accepted and validated and have no effect, with the reason. A test compares this table with
 * the collections that generators read.
 */
export const kindsWithoutEffect: ReadonlyMap<Kind, string> = new Map([
  [envoyFilterKind, "EnvoyFilter patches are not applied yet"],
  [wasmPluginKind, "Wasm extensions are not sent to proxies yet"],
  [trafficExtensionKind, "traffic extensions are not sent to proxies yet"],
  [proxyConfigKind, "ProxyConfig takes effect by sidecar injection, which is not served yet"],
  [workloadGroupKind, "workloads are not registered automatically yet; write WorkloadEntries"],
  ...gatewayApiKinds.map((kind) => [kind, `the Gateway API is not supported yet${insteadOf(kind)}`] as const),
]);

/** Returns what to write instead of an object of the Gateway API, as a clause. */
function insteadOf({ kind }: Kind): string {
  if (kind === "Gateway") return "; write a Gateway of networking.istio.io";
  if (kind === "BackendTLSPolicy") return "; write a DestinationRule";
  return kind.endsWith("Route") ? "; write a VirtualService" : "";
}
