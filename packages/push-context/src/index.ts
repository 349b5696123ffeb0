export { shadowedIngressPaths } from "./ingress/ingress-virtual-services.js";
export { applicablePatches, configPatch, type PatchRef } from "./envoy-filters/applicable-patches.js";
export { appliesToWorkload, type AttachedWorkload, type TargetedPolicy } from "./attachment/policy-attachment.js";
export { clientAddress, clientAddresses } from "./proxy/client-addresses.js";
export { dnsNamespaceServing, kubernetesDnsSuffix, namespaceOfHostname } from "./proxy/dns-names.js";
export {
  askMetadata,
  cluster,
  dnsDomain,
  envoyAtLeast,
  globalUnicastAddress,
  hasDnsDomain,
  hasExtension,
  inCluster,
  inNamespace,
  inNetwork,
  interceptionMode,
  ipAddresses,
  ipMode,
  isAuthenticated,
  isLabelled,
  isProxylessGrpc,
  isUnprivileged,
  label,
  locality,
  namespace,
  network,
  nodeCluster,
  proxyId,
  proxyType,
  rawMetadata,
  selects,
  verifiedInNamespace,
  verifiedNamespace,
  versionAtLeast,
} from "./proxy/facts.js";
export { isProxyType, type Node, proxyFromNode } from "./proxy/from-node.js";
export { noProxy } from "./proxy/no-proxy.js";
export { type IpMode, ipModeOf, supportsIPv4, supportsIPv6 } from "./proxy/ip-mode.js";
export { selectorMatches } from "./proxy/labels.js";
export {
  applicableExtensions,
  type ChainExtensions,
  chainExtensions,
  noExtensions,
  permittedExtension,
} from "./extensions/applicable-extensions.js";
export { type Extension, extension, namespaceExtensions, type WasmModule } from "./extensions/traffic-extension.js";
export { proxyConfig } from "./proxy/proxy-config.js";
export { ProxyNodeError } from "./proxy/proxy-node-error.js";
export type { Locality, Proxy, VerifiedIdentity } from "./proxy/proxy.js";
export { serviceTargets } from "./proxy/service-targets.js";
export {
  type UnsupportedClient,
  unsupportedClient,
  type UnsupportedClientKind,
  unsupportedClientKinds,
} from "./proxy/unsupported-client.js";

export { workloadOfPod } from "./pod-proxies/pod-metadata.js";
export { podProxies, podProxy, podProxyType, proxyNamed } from "./pod-proxies/pod-proxies.js";

export {
  type GrpcClient,
  grpcClientOf,
  grpcEndsCallsEarly,
  type GrpcFeature,
  grpcFeatures,
  type GrpcLanguage,
  grpcLanguageNames,
  grpcNeedsAllResources,
  grpcSupports,
  languagesWithout,
  supportsFeature,
} from "./proxyless/grpc-client.js";
export {
  destinationRuleLimits,
  type GrpcLimit,
  grpcMaxInvertedHeaders,
  virtualServiceLimits,
} from "./proxyless/grpc-limits.js";
export { isPresenceMatch } from "./routing/presence-match.js";

export { features } from "./mesh/features.js";
export { mesh, rootNamespace } from "./mesh/mesh-config.js";

export { exportScope, isExportedTo } from "./visibility/export-to.js";
export {
  bySpecificity,
  hostsForNamespace,
  hostsOverlap,
  intersectHosts,
  isSubsetOfHost,
  mostSpecificMatch,
} from "./visibility/host-names.js";
export {
  type EgressListener,
  egressListeners,
  ingressListeners,
  listenerKey,
  outboundTraffic,
  type OutboundTraffic,
  scopeKey,
  type ScopeListener,
  scopeOf,
  type ScopeRef,
  sidecarSpec,
} from "./visibility/scope.js";
export { scopedAliases, scopedService, type ScopedService } from "./visibility/scoped-service.js";
export {
  listenerServices,
  scopeServiceIndex,
  scopeServices,
  destinationService,
  serviceInScope,
  visibleDeclaration,
} from "./visibility/scoped-services.js";
export { lostTlsHosts, type LostTlsHosts } from "./ingress/ingress-tls-hosts.js";
export { type IngressGateway, ingressGatewayOf } from "./ingress/ingress-gateways.js";
export { isServedIngress, servedIngresses } from "./ingress/served-ingresses.js";
export { ingressOfGateway } from "./ingress/ingress-gateways.js";
export { listenerVirtualServices, mostSpecificVirtualService } from "./visibility/scoped-virtual-services.js";
export { type FailedService, failedServices, serviceHeader } from "./visibility/service-header.js";
export { sidecarScopeOf } from "./visibility/selected-sidecar.js";
export { failureMessage } from "./visibility/failure-message.js";
export { serviceVisibility, type ServiceVisibility } from "./visibility/service-visibility.js";
export { mergeObstacles } from "./visibility/services-by-host.js";
export { visibleAliases } from "./visibility/visible-aliases.js";

export { meshGateway, resolveGateway, resolveHost } from "./routing/short-names.js";
export {
  routedHosts,
  virtualServiceHeader,
  type VirtualServiceHeader,
  virtualServicesForGateway,
  type FailedVirtualService,
  failedVirtualServices,
} from "./routing/virtual-service-index.js";
export {
  type BoundRoutes,
  fewServers,
  hasRoutesOf,
  type RoutedServers,
  routedServers,
} from "./routing/routed-servers.js";
export { routeDeclarations } from "./routing/declared-objects.js";
export { derivedFrom, type GatewayApiSource } from "./routing/derived-from.js";
export { routeDestinations } from "./routing/resolve-names.js";
export { type ResolvedVirtualService, type RouteSemantics, virtualService } from "./routing/virtual-service.js";

export type { ConsolidatedRule } from "./traffic-policy/consolidated-rule.js";
export {
  type Destination,
  destinationRuleFor,
  destinationRuleForWorkload,
  inboundDestinationRuleFor,
  type PolicyTarget,
  subsetsOf,
} from "./traffic-policy/destination-rule.js";
export { wildcardSubsets, type WildcardRule } from "./traffic-policy/wildcard-subsets.js";
export { policyOverBound } from "./traffic-policy/policy-product.js";
export { servedSubsets, type ServedSubsets, type SubsetsTarget } from "./traffic-policy/served-subsets.js";
export { rulesForHost } from "./traffic-policy/namespace-rules.js";
export { isSameForAllWorkloads, rulesDefiningSubset } from "./traffic-policy/subset-rules.js";
export type { RuleWorkload } from "./traffic-policy/rule-candidates.js";
export { reasonUnapplied, ruleLookupSettings } from "./traffic-policy/unapplied-rule.js";
export { type OverriddenParts, overriddenParts, partsDefinedBefore } from "./traffic-policy/overridden-parts.js";
export { type DeclaredTls, type TlsOverride, tlsOverrides } from "./traffic-policy/tls-overrides.js";
export { hostsWithDuplicateSubsets } from "./traffic-policy/duplicate-subsets.js";
export {
  findSubset,
  overlayPolicy,
  portPolicy,
  subsetPolicy,
  withMeshDefaults,
} from "./traffic-policy/effective-policy.js";
export { isPartialWildcard, isWildcard } from "./traffic-policy/host-pattern.js";
export { effectiveLocalitySetting, type LocalitySetting } from "./traffic-policy/locality-setting.js";

export { routesToInferencePools } from "./gateways/inference-pools.js";
export { clientServices } from "./gateways/client-services.js";
export {
  credentialReference,
  declaredCredential,
  rootCertificatesSuffix,
  rootsCredentialName,
  serverRootsCredentialName,
} from "./gateways/credential-name.js";
export { explicitHosts } from "./gateways/bound-server.js";
export { backendClientCertificate } from "./gateways/client-certificate.js";
export { type CredentialAccess, credentialAccess, isServerCredential } from "./gateways/credential-references.js";
export {
  isInSecretCluster,
  secretClusters,
  secretPermissionKey,
  secretPermissionRequired,
  secretPermissions,
  type SecretPermission,
  type SecretReader,
} from "./gateways/secret-permissions.js";
export type { BoundServer, MergedGateway, RejectedServer, ServerGroup } from "./gateways/gateway-server.js";
export { mergeServers, serverKey } from "./gateways/merge-servers.js";
export { gatewayObject, mergedGateway, serversOfRoute } from "./gateways/merged-gateway.js";
export {
  isHttpsServerWithTlsTermination,
  isPassThroughServer,
  isTcpServerWithTlsTermination,
} from "./gateways/server-kind.js";

export type { MutualTlsMode } from "./authentication/mutual-tls-mode.js";
export {
  clientPeerModes,
  modeOfPort,
  namespacePeerModes,
  type PeerModes,
  workloadPeerModes,
} from "./authentication/peer.js";
export { serviceMutualTlsMode } from "./authentication/service-mode.js";

export {
  applicableAuthorizationPolicies,
  type ApplicablePolicies,
  type ApplicablePolicy,
} from "./authorization/authorization-policies.js";
export {
  fetchedJwks,
  jwksFetches,
  type JwksProblem,
  jwksProblems,
  jwksToFetch,
  localJwks,
  remoteJwksServer,
  unverifiableJwks,
  unverifiableJwksSeed,
} from "./authentication/jwks.js";
export { httpAttribute } from "./authorization/http-attributes.js";
export {
  matchesStringPattern,
  type RequestPrincipalPattern,
  requestPrincipalPattern,
  type StringPattern,
} from "./authorization/request-principals.js";
export { extensionProvider } from "./telemetry/extension-provider.js";
export { providerAddress, providerProblem, serviceOfProvider } from "./mesh/provider-address.js";
export {
  applicableJwtRules,
  applicableRequestAuthentications,
  rejectsAllRequests,
} from "./authentication/request-authentications.js";

export { accessLogTargets } from "./telemetry/access-logs.js";
export {
  applicableTelemetry,
  type ApplicableTelemetry,
  telemetriesOfClient,
} from "./telemetry/applicable-telemetry.js";
export type { ListenerClass } from "./telemetry/listener-class.js";
export { isSupportedFor, providerKinds, type TelemetrySection } from "./telemetry/provider-kinds.js";
export { type MetricOverride, metricsSettings, type MetricsSettings } from "./telemetry/metrics.js";
export { tracingSettings, type TracingSettings } from "./telemetry/tracing.js";
