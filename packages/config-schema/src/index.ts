export { clusterKey, meshKey, type ConfigObject, type NegativeCondition } from "./config-object.js";
export { applyChanges, type ObjectChange, type OtherRevisionChange, setObjects } from "./object-change.js";
export { formatOtherRevision, type ObjectOfOtherRevision, otherRevisionOf, otherRevisions } from "./other-revisions.js";

export { decode, type Decoded, type DecodeOptions, type Issue, type Subject } from "./decoding/decode.js";
export { failClosed, type RejectedIdentity } from "./decoding/fail-closed.js";
export { findJsonFaults, type JsonFaults } from "./decoding/json-faults.js";
export { formatPath, type FieldPath, type IssueCode, type Report } from "./decoding/report.js";

export { formatProblem, formatSubject, type Problem, subjectOf } from "./manifests/problem.js";
export {
  type LocatedObject,
  type LocatedOther,
  moveReading,
  readDocument,
  readInSlices,
  type Reading,
  type ReadOptions,
  readText,
} from "./manifests/read-text.js";
export { PolicyScanner, type UnparsedPolicy, type UnparsedPolicyOptions } from "./manifests/unparsed-policies.js";
export { rejectedConfigs } from "./rejected-configs.js";
export { FieldLines } from "./yaml/field-line.js";
export {
  type DocumentText,
  type ParsedDocument,
  type ParseOptions,
  parseYaml,
  documentsOf,
  splitDocuments,
  type SyntaxFault,
} from "./yaml/yaml.js";

export {
  allKinds,
  analysisKinds,
  gatewayApiKinds,
  ingressKinds,
  isIstioGroup,
  istioKinds,
  kubernetesKinds,
  remoteKinds,
} from "./kinds/all-kinds.js";
export { fieldsOf, type FieldsOfOptions } from "./kinds/field-selection.js";
export { type FieldSelection, type SelectedFields } from "./kinds/selected-fields.js";
export { hostBucket, hostBuckets } from "./kinds/host-bucket.js";
export { type FailClosed, type Kind } from "./kinds/kind.js";

export {
  type CustomResourceDefinitionObject,
  customResourceDefinitions,
  customResourceDefinitionKind,
} from "./kinds/analysis/custom-resource-definition.js";
export {
  deploymentKind,
  type PodTemplateSpec,
  templatePath,
  type WorkloadKind,
  workloadKinds,
  type WorkloadObject,
} from "./kinds/analysis/workload-kinds.js";
export { type BackendObject, backendKind, backends, type BackendSpec } from "./kinds/gateway-api/backend.js";
export {
  backendTlsPolicies,
  backendTlsPoliciesByTarget,
  backendTlsPolicyKind,
  type BackendTlsPolicyObject,
  type SectionReference,
} from "./kinds/gateway-api/backend-tls-policy.js";
export { type BackendTlsValidation } from "./kinds/gateway-api/backend-tls-validation.js";
export {
  backendTrafficPolicies,
  backendTrafficPoliciesByTarget,
  backendTrafficPolicyKind,
  type BackendTrafficPolicyObject,
  type RetryConstraint,
} from "./kinds/gateway-api/backend-traffic-policy.js";
export {
  gatewayClasses,
  gatewayClassKind,
  type GatewayClassObject,
  type GatewayClassSpec,
} from "./kinds/gateway-api/gateway-class.js";
export {
  type EndpointPicker,
  inferencePoolKind,
  type InferencePoolObject,
  inferencePools,
  type InferencePoolSpec,
} from "./kinds/gateway-api/inference-pool.js";
export {
  type FrontendValidation,
  type GatewayAddress,
  type GatewayInfrastructure,
  type GatewayTls,
  type KubernetesGatewayObject,
  kubernetesGateways,
  kubernetesGatewayKind,
  type KubernetesGatewaySpec,
} from "./kinds/gateway-api/kubernetes-gateway.js";
export { type AllowedRoutes, type KubernetesGatewayListener, type ListenerTls } from "./kinds/gateway-api/listener.js";
export {
  listenerSetKind,
  type ListenerSetObject,
  listenerSets,
  listenerSetsByGateway,
} from "./kinds/gateway-api/listener-set.js";
export {
  gatewayApiReleaseAnnotation,
  unsupportedDefinition,
  type UnsupportedDefinition,
} from "./kinds/gateway-api/minimum-releases.js";
export { type NamespaceSelection, type ObjectSelector } from "./kinds/gateway-api/namespace-selection.js";
export {
  type GrantedReference,
  grantedReferenceKey,
  referenceGrantKind,
  type ReferenceGrantObject,
  referenceGrants,
  referenceGrantsByReference,
} from "./kinds/gateway-api/reference-grant.js";
export {
  type FullReference,
  type GroupKind,
  type LocalReference,
  type ObjectReference,
} from "./kinds/gateway-api/references.js";
export {
  type BackendObjectReference,
  type BackendReference,
  type ParentReference,
  type RouteParents,
} from "./kinds/gateway-api/routes/references.js";
export {
  type CorsFilter,
  type HeaderModifier,
  type PathModifier,
  type RequestMirror,
  type RequestRedirect,
  type RouteFilter,
  type UrlRewrite,
} from "./kinds/gateway-api/routes/filters.js";
export {
  type HttpBackendReference,
  httpRouteKind,
  type HttpRouteObject,
  type HttpRouteRetry,
  type HttpRouteRule,
  httpRoutes,
  type HttpRouteTimeouts,
} from "./kinds/gateway-api/routes/http-route.js";
export {
  grpcRouteKind,
  type GrpcRouteObject,
  type GrpcRouteRule,
  grpcRoutes,
} from "./kinds/gateway-api/routes/grpc-route.js";
export {
  type L4RouteRule,
  tcpRouteKind,
  type TcpRouteObject,
  tcpRoutes,
  tlsRouteKind,
  type TlsRouteObject,
  tlsRoutes,
} from "./kinds/gateway-api/routes/l4-routes.js";
export {
  type WebhookSelector,
  type Webhook,
  type WebhookConfigurationObject,
  mutatingWebhookConfigurations,
  validatingWebhookConfigurations,
  mutatingWebhookConfigurationKind,
  validatingWebhookConfigurationKind,
} from "./kinds/analysis/webhook-configuration.js";
export {
  type AuthorizationPolicyObject,
  authorizationPolicies,
  authorizationPoliciesByNamespace,
  rejectedAuthorizationPolicies,
  rejectedAuthorizationPoliciesByNamespace,
  authorizationPolicyKind,
} from "./kinds/istio/authorization-policy/authorization-policy.js";
export {
  type DestinationRuleObject,
  destinationRules,
  destinationRulesByHost,
  destinationRuleKind,
} from "./kinds/istio/destination-rule/destination-rule.js";
export {
  type EnvoyFilterObject,
  envoyFilters,
  envoyFiltersByNamespace,
  envoyFilterKind,
} from "./kinds/istio/envoy-filter/envoy-filter.js";
export { type GatewayObject, gateways, gatewaysByNamespace, gatewayKind } from "./kinds/istio/gateway.js";
export {
  type PeerAuthenticationObject,
  peerAuthentications,
  peerAuthenticationsByNamespace,
  rejectedPeerAuthentications,
  rejectedPeerAuthenticationsByNamespace,
  peerAuthenticationKind,
} from "./kinds/istio/peer-authentication.js";
export {
  type ProxyConfigObject,
  proxyConfigs,
  proxyConfigsByNamespace,
  proxyConfigKind,
} from "./kinds/istio/proxy-config.js";
export {
  type RequestAuthenticationObject,
  requestAuthentications,
  requestAuthenticationsByNamespace,
  rejectedRequestAuthentications,
  rejectedRequestAuthenticationsByNamespace,
  requestAuthenticationKind,
} from "./kinds/istio/request-authentication.js";
export {
  type ServiceEntryObject,
  serviceEntries,
  serviceEntriesByHost,
  serviceEntryKind,
} from "./kinds/istio/service-entry/service-entry.js";
export {
  type SidecarObject,
  sidecars,
  sidecarsByNamespace,
  rejectedSidecars,
  rejectedSidecarsByNamespace,
  sidecarKind,
} from "./kinds/istio/sidecar/sidecar.js";
export { type TelemetryObject, telemetries, telemetriesByNamespace, telemetryKind } from "./kinds/istio/telemetry.js";
export {
  type TrafficExtensionObject,
  trafficExtensions,
  trafficExtensionsByNamespace,
  trafficExtensionKind,
} from "./kinds/istio/traffic-extension.js";
export {
  type VirtualServiceObject,
  virtualServices,
  virtualServicesByGateway,
  virtualServicesByNamespace,
  gatewayName,
  virtualServiceKind,
} from "./kinds/istio/virtual-service/virtual-service.js";
export {
  type WasmPluginObject,
  wasmPlugins,
  wasmPluginsByNamespace,
  wasmPluginKind,
} from "./kinds/istio/wasm-plugin.js";
export {
  type WorkloadEntryObject,
  workloadEntries,
  workloadEntriesByNamespace,
  workloadEntryKind,
} from "./kinds/istio/workload-entry.js";
export { type WorkloadGroupObject, workloadGroupKind, workloadGroups } from "./kinds/istio/workload-group.js";
export { type ConfigMapObject, configMaps, lockConfigMaps } from "./kinds/kubernetes/config-map.js";
export { type Container } from "./kinds/kubernetes/container.js";
export {
  type SliceEndpoint,
  type EndpointSliceObject,
  endpointSlices,
  endpointSlicesByService,
} from "./kinds/kubernetes/endpoint-slice.js";
export { type IngressClassObject, ingressClasses } from "./kinds/kubernetes/ingress-class.js";
export {
  type IngressPath,
  type IngressService,
  type IngressObject,
  ingresses,
  ingressClassAnnotation,
  nginxPrefix,
  ingressKind,
} from "./kinds/kubernetes/ingress.js";
export {
  multiClusterGroup,
  type ServiceExportObject,
  type ServiceImportObject,
  serviceExports,
  serviceImports,
  serviceImportsByName,
  multiClusterKinds,
} from "./kinds/kubernetes/multi-cluster-services.js";
export { type NamespaceObject, namespaces, namespaceKind, systemNamespaces } from "./kinds/kubernetes/namespace.js";
export { type NodeObject, nodes } from "./kinds/kubernetes/node.js";
export {
  type ContainerPort,
  type PodObject,
  pods,
  podsByAddress,
  podsByNamespace,
  podsByNodeAccount,
  podKind,
} from "./kinds/kubernetes/pod.js";
export { directorySecretKind, type SecretObject, secrets, secretKind } from "./kinds/kubernetes/secret.js";
export { type ServiceAccountObject, serviceAccounts } from "./kinds/kubernetes/service-account.js";
export {
  type ServicePortSpec,
  type ServiceObject,
  services,
  servicesByNamespace,
  serviceKind,
} from "./kinds/kubernetes/service.js";

export {
  configCluster,
  readDiscovered,
  undiscoveredNamespace,
  type ClusterNamespace,
  selectsNamespace,
} from "./mesh/discovered-namespaces.js";
export { clusterIdVariable, clusterRegistriesVariable, environment } from "./mesh/environment.js";
export {
  booleanFeature,
  durationFeature,
  type Feature,
  featureWhen,
  floatFeature,
  integerFeature,
  listFeature,
  nameFeature,
  stringFeature,
} from "./mesh/feature.js";
export { matchesLabelSelector } from "./mesh/label-selector.js";
export { applyMeshConfig, mergeProxyConfig, meshConfig, meshConfigKey, readProxyConfig } from "./mesh/mesh-config.js";
export { defaultMeshConfig, defaultProxyConfig } from "./mesh/mesh-defaults.js";
export { meshNetworks, meshNetworksKey, readMeshNetworks } from "./mesh/mesh-networks.js";
export { rootsOfSigner, signersWithRoots } from "./mesh/signer-roots.js";
export {
  applyProxyConfigAnnotation,
  checkProxyConfigAnnotation,
  readProxyConfigAnnotation,
} from "./mesh/proxy-config-annotation.js";

export { usableCurves } from "./validation/traffic/curves.js";
export { isCipherSuite, usableCiphers } from "./validation/traffic/cipher-suites.js";
export { grpcStatuses } from "./validation/traffic/grpc-statuses.js";
export { celFault } from "./validation/cel/cel.js";
export { quantityOf } from "./validation/kubernetes/quantity.js";
export { luaFault } from "./validation/lua/lua.js";
export { formatStringFault } from "./validation/format-string/format-string.js";
export { headerFormatFault } from "./validation/format-string/header-format.js";
export { isCidr } from "./validation/network/ip.js";
export { jwksFault, portabilityFault as jsonPortabilityFault } from "./validation/jwt/jwks.js";
export { keyFault as jsonWebKeyFault } from "./validation/jwt/json-web-key.js";
export type {
  GrpcMethodMatch,
  GrpcRouteMatch,
  HttpRouteMatch,
  ValueMatch,
} from "./kinds/gateway-api/routes/route-matches.js";
export { type RepeatedRules, repeatedRules } from "./kinds/gateway-api/routes/route-products.js";
export { copiedBytes } from "./kinds/istio/virtual-service/copied-bytes.js";
export { productBounds, type ProductBounds, readProductBounds } from "./mesh/product-bounds.js";
export {
  type AbsentReaders,
  absentReadersOf,
  readAbsentReaders,
  type RunningParts,
  writeAbsentReaders,
} from "./effect/absent-readers.js";
export { effectsElsewhere, kindsWithoutEffect } from "./effect/kinds-without-effect.js";
export { type ClassesOfIngress, hasServedClass, isIstioClass } from "./mesh/served-ingress.js";
export { fieldsWithoutEffect, valuesWithoutEffect } from "./effect/fields-without-effect.js";
export { type IneffectiveField, ineffectiveFields, withoutName } from "./effect/ineffective-fields.js";
export { regexMatches } from "./validation/regex/regex.js";
export { withShortQuotes } from "./decoding/short-quotes.js";
