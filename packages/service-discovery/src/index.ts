/** Services, their endpoints and workloads, from Kubernetes objects, ServiceEntries and WorkloadEntries, as queries. */
export * from "./protocol.js";
export * from "./labels.js";
export * from "./model/service.js";
export * from "./model/endpoint.js";
export * from "./model/workload.js";
export { aliasesOf, declarationsOf, keyOfId, service, serviceOrder, servicesByHostname, splitKey } from "./services.js";
export { kubernetesServicesByName } from "./kubernetes/service.js";
export { serviceAddress, serviceAddresses, type AddressView } from "./addresses.js";
export { allEndpoints, endpoints, inlineEndpoints } from "./endpoints.js";
export { type EndpointWithoutPod, endpointsWithoutPods } from "./kubernetes/endpoints-without-pods.js";
export { serviceIdentities } from "./identities.js";
export { isClusterLocal } from "./cluster-local.js";
export { multiClusterServices, type MultiClusterService } from "./multi-cluster/overview.js";
export { type Discoverability } from "./multi-cluster/exports.js";
export { acceptsTunnels, everyEndpointAcceptsTunnels, hasTunnels } from "./tunnels.js";
export { networkGateways } from "./network/gateways.js";
export {
  gatewaysTo,
  gatewayWeightScale,
  hasNetworkGateways,
  resolvedHosts,
  type GatewayForm,
} from "./network/reach.js";
export { servicesSelecting } from "./targets/kubernetes-targets.js";
export { serviceTargets, podOfProxy, registeredLabels } from "./targets/service-targets.js";
export type { ProxyIdentity } from "./targets/proxy-identity.js";
export { podWorkload } from "./workloads/pod-workload.js";
export { entryWorkload } from "./workloads/workload-entry.js";
export { workloadByAddress } from "./workloads/by-address.js";
export { spiffeId, trustDomain, trustDomainAliases } from "./settings/mesh.js";
export {
  settings as discoverySettings,
  settingVariables as discoverySettingVariables,
} from "./settings/environment.js";
