export { aliasedHost, aliasesOf, aliasKeys } from "./aliases.js";
export { type AddressView, serviceAddress, serviceAddresses } from "./addresses.js";
export { isClusterLocal } from "./cluster-local.js";
export { servedWorkloads, type ServedWorkloads } from "./service-entry/served-workloads.js";
export { allEndpoints, endpoints, inlineEndpoints } from "./endpoints.js";
export { serviceIdentities } from "./identities.js";

export { endpointsWithoutPods } from "./kubernetes/endpoints-without-pods.js";
export { kubernetesServicesByName } from "./kubernetes/kubernetes-service.js";

export {
  CANONICAL_NAME_LABEL,
  CANONICAL_REVISION_LABEL,
  canonicalServiceOf,
  hasLabels,
  NETWORK_LABEL,
  NODE_LABEL,
  REGION_LABEL,
  splitLocality,
  SUBZONE_LABEL,
  withTopology,
  ZONE_LABEL,
} from "./labels.js";

export { DISABLED_TLS_MODE, type Endpoint, type Health, ISTIO_MUTUAL_TLS_MODE } from "./model/endpoint.js";
export {
  declarationName,
  endpointSource,
  type EndpointSource,
  isWildcardHost,
  type Labels,
  portNumbered,
  type Registry,
  type Resolution,
  type Service,
  type ServicePort,
  type TrafficDistribution,
  UNSPECIFIED_ADDRESS,
} from "./model/service.js";
export type { NetworkGateway, ServiceTarget, Workload } from "./model/workload.js";

export type { Discoverability } from "./multi-cluster/exports.js";
export { multiClusterServices } from "./multi-cluster/multi-cluster-services.js";

export {
  type GatewayForm,
  gatewaysTo,
  gatewayWeightScale,
  hasNetworkGateways,
  resolvedHosts,
} from "./network/gateway-selection.js";
export {
  GatewayResolution,
  type GatewayResolutionOptions,
  type ResolvedAddress,
  type ResolveHostname,
} from "./network/gateway-resolution.js";
export {
  type EndpointPicker,
  endpointPickerOf,
  inferencePoolLabels,
  inferencePoolSemantics,
  isInferencePool,
} from "./inference-pools.js";
export { isAutoPassthrough } from "./network/gateway-resources.js";
export { networkGateways } from "./network/gateways.js";

export {
  afterTlsTermination,
  isGrpc,
  isHttp,
  isHttp2,
  isHttpOrDetected,
  isTcp,
  isTls,
  isUndeclared,
  kubernetesPortProtocol,
  parseProtocol,
  type Protocol,
} from "./protocol.js";
export { declarationsOf, keyOfId, service, serviceOrder, servicesByHostname, splitKey } from "./services.js";

export { features as discoveryFeatures, settings as discoverySettings } from "./settings/features.js";
export { mayHaveNetworkGateways, visibilityLimit } from "./settings/mesh.js";
export { canonicalAddress } from "./canonical-address.js";

export { servicesSelecting } from "./targets/kubernetes-targets.js";
export type { ProxyIdentity } from "./targets/proxy-identity.js";
export { registeredLabels, serviceTargets } from "./targets/service-targets.js";
export { verifiedLabels } from "./targets/verified-workload.js";

export { acceptsTunnels, everyEndpointAcceptsTunnels, hasTunnels } from "./tunnels.js";

export { type AccountOnNode, type NodePod, nodePods } from "./workloads/node-pods.js";
export { podWorkload } from "./workloads/pod-workload.js";
export { workloadByAddress } from "./workloads/workload-by-address.js";
