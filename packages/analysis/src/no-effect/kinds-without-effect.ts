import {
  envoyFilterKind,
  type Kind,
  kubernetesGatewayKind,
  kubernetesGrpcRouteKind,
  kubernetesHttpRouteKind,
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
  [kubernetesGatewayKind, "the Gateway API is not supported yet; write a Gateway of networking.istio.io"],
  [kubernetesHttpRouteKind, "the Gateway API is not supported yet; write a VirtualService"],
  [kubernetesGrpcRouteKind, "the Gateway API is not supported yet; write a VirtualService"],
]);
