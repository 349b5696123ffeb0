import {
  booleanFeature,
  durationFeature,
  type Feature,
  featureWhen,
  floatFeature,
  integerFeature,
  listFeature,
  nameFeature,
  productBounds,
  stringFeature,
} from "@istiod/config-schema";
import { discoveryFeatures } from "@istiod/service-discovery";

const { ambient } = discoveryFeatures;

/** A flag of ambient mode: `whenAmbient` is its default there, and it is false elsewhere. */
const ambientFlag = (variable: string, whenAmbient: boolean, help: string): Feature<boolean> =>
  featureWhen(ambient, booleanFeature(variable, whenAmbient, help), false);
const ambientNumber = (variable: string, help: string): Feature<number> =>
  featureWhen(ambient, integerFeature(variable, 0, help), 0);

/**
 * The environment variables that affect generated configuration, with istiod's defaults (pilot/pkg/features). Call one
 * with the query context to read it: `features.dualStack(q)`.
 */
export const features = {
  // Bounds
  maxRoutes: productBounds.routes,
  maxGatewayRoutes: productBounds.gatewayRoutes,
  maxGatewayBytes: productBounds.gatewayBytes,
  maxClusters: productBounds.clusters,
  maxRuleClusters: productBounds.ruleClusters,
  maxPolicyBytes: productBounds.policyBytes,
  maxRulePolicyBytes: productBounds.rulePolicyBytes,
  maxCopiedBytes: productBounds.bytes,

  // Resource selection
  filterGatewayClusters: booleanFeature(
    "PILOT_FILTER_GATEWAY_CLUSTER_CONFIG",
    false,
    "send gateways only the clusters that their routes refer to",
  ),
  scopeGatewayToNamespace: booleanFeature(
    "PILOT_SCOPE_GATEWAY_TO_NAMESPACE",
    false,
    "let a gateway workload select only Gateways of its own namespace",
  ),
  strictGatewayMerging: booleanFeature(
    "PILOT_ENABLE_STRICT_GATEWAY_MERGING",
    true,
    "do not merge gateways of the Gateway API with Istio Gateways of other namespaces",
  ),
  selectorBasedGatewayApiPolicy: booleanFeature(
    "ENABLE_SELECTOR_BASED_K8S_GATEWAY_POLICY",
    true,
    "apply policies with a workload selector to gateways of the Gateway API too",
  ),
  unifiedSidecarScope: booleanFeature(
    "PILOT_UNIFIED_SIDECAR_SCOPE",
    true,
    "select services for egress hosts without a port in the same way as for those with one",
  ),
  sidecarPicksBestServiceNamespace: booleanFeature(
    "PILOT_SIDECAR_PICK_BEST_SERVICE_NAMESPACE",
    true,
    "prefer a Kubernetes Service, then the oldest service, if several namespaces declare a hostname",
  ),
  sidecarServiceInboundListenerMerge: booleanFeature(
    "PILOT_ALLOW_SIDECAR_SERVICE_INBOUND_LISTENER_MERGE",
    false,
    "generate inbound listeners for service ports in addition to those of Sidecar.ingress",
  ),
  tlsOnSidecarIngress: booleanFeature(
    "ENABLE_TLS_ON_SIDECAR_INGRESS",
    false,
    "terminate TLS at the ingress listeners of Sidecars that configure it",
  ),
  enhancedDestinationRuleMerge: booleanFeature(
    "ENABLE_ENHANCED_DESTINATIONRULE_MERGE",
    true,
    "do not merge DestinationRules for one host if their exportTo differs",
  ),

  // Addresses and names
  dualStack: discoveryFeatures.dualStack,
  additionalIpv4OutboundListener: booleanFeature(
    "ISTIO_ENABLE_IPV4_OUTBOUND_LISTENER_FOR_IPV6_CLUSTERS",
    false,
    "add an IPv4 outbound listener to proxies with IPv6 addresses only",
  ),
  ipAutoallocate: discoveryFeatures.ipAutoallocate,
  absoluteFqdnDomains: booleanFeature(
    "PILOT_ENABLE_ABSOLUTE_FQDN_VHOST_DOMAIN",
    true,
    "add the fully qualified domain name with its trailing dot to virtual hosts",
  ),
  multiclusterHeadless: booleanFeature(
    "ENABLE_MULTICLUSTER_HEADLESS",
    true,
    "resolve headless services in the name table to endpoints of the same network in any cluster",
  ),
  headlessFilterChainListener: booleanFeature(
    "PILOT_ENABLE_HEADLESS_FILTER_CHAIN_LISTENER",
    false,
    "generate one listener with a filter chain for each endpoint of a headless TCP service, in place of a listener for each",
  ),

  // Services and endpoints
  sendUnhealthyEndpoints: booleanFeature(
    "PILOT_SEND_UNHEALTHY_ENDPOINTS",
    false,
    "send unhealthy endpoints, marked as such",
  ),
  autoSendUnhealthyEndpoints: booleanFeature(
    "PILOT_AUTO_SEND_UNHEALTHY_ENDPOINTS",
    true,
    "send unhealthy endpoints of services for which minHealthPercent is set",
  ),
  edsForHeadless: booleanFeature(
    "PILOT_ENABLE_EDS_FOR_HEADLESS_SERVICES",
    false,
    "send the endpoints of headless services, in place of the original destination",
  ),
  persistentSessionFilter: booleanFeature(
    "PILOT_ENABLE_PERSISTENT_SESSION_FILTER",
    false,
    "generate the stateful session filter for services with persistent sessions",
  ),
  persistentSessionLabel: discoveryFeatures.persistentSessionLabel,
  persistentSessionHeaderLabel: discoveryFeatures.persistentSessionHeaderLabel,
  drainingLabel: stringFeature(
    "PILOT_DRAINING_LABEL",
    "istio.io/draining",
    "label of endpoints that are sent as draining; empty for none",
  ),
  localityWeightedLb: booleanFeature(
    "ENABLE_LOCALITY_WEIGHTED_LB_CONFIG",
    false,
    "set locality-weighted load balancing for every cluster, not only where a DestinationRule configures it",
  ),

  // Clusters
  dnsCaresUdpMaxQueries: integerFeature(
    "PILOT_DNS_CARES_UDP_MAX_QUERIES",
    100,
    "maximum number of queries of Envoy's DNS resolver over one UDP channel",
  ),
  /** Milliseconds. */
  dnsJitter: durationFeature("PILOT_DNS_JITTER_DURATION", 100, "jitter of the DNS refresh of clusters"),
  allowAnyDynamicDnsMaxHosts: integerFeature(
    "PILOT_ALLOW_ANY_DYNAMIC_DNS_MAX_HOSTS",
    1024,
    "maximum number of hosts in the DNS cache of dynamic forward proxies",
  ),
  disableTrackRemaining: booleanFeature(
    "DISABLE_TRACK_REMAINING_CB_METRICS",
    true,
    "do not track the remaining resources of circuit breakers",
  ),
  preferDestinationRuleTlsForExternal: booleanFeature(
    "PREFER_DESTINATIONRULE_TLS_FOR_EXTERNAL_SERVICES",
    true,
    "prefer the TLS settings of DestinationRules to the metadata of endpoints, for services outside of the mesh",
  ),
  canonicalServiceForMeshExternal: discoveryFeatures.canonicalServiceForMeshExternal,

  // Listeners and routes
  http10: booleanFeature("PILOT_HTTP10", false, "accept HTTP/1.0"),
  proxy100Continue: booleanFeature("ENABLE_100_CONTINUE_HEADERS", true, "pass 100-continue responses through"),
  useRemoteAddress: booleanFeature(
    "PILOT_SIDECAR_USE_REMOTE_ADDRESS",
    false,
    "use the remote address of the connection as the client's address at outbound listeners of sidecars",
  ),
  hcmInternalNetworks: booleanFeature(
    "ENABLE_HCM_INTERNAL_NETWORKS",
    false,
    "treat the networks of the mesh as internal addresses",
  ),
  quicListeners: booleanFeature(
    "PILOT_ENABLE_QUIC_LISTENERS",
    false,
    "generate HTTP/3 listeners for gateways whose Service has the UDP port",
  ),
  mysqlFilter: booleanFeature("PILOT_ENABLE_MYSQL_FILTER", false, "generate the MySQL filter"),
  redisFilter: booleanFeature("PILOT_ENABLE_REDIS_FILTER", false, "generate the Redis filter"),
  mongoFilter: booleanFeature("PILOT_ENABLE_MONGO_FILTER", true, "generate the MongoDB filter"),
  alpnFilter: booleanFeature("PILOT_ENABLE_ALPN_FILTER", true, "generate Istio's ALPN filter"),
  disableMxAlpn: booleanFeature(
    "PILOT_DISABLE_MX_ALPN",
    false,
    "do not offer the ALPN protocol istio-peer-exchange of metadata exchange",
  ),
  /** Milliseconds; 0 disables the timeout. */
  gatewayTransportSocketConnectTimeout: durationFeature(
    "PILOT_GATEWAY_TRANSPORT_SOCKET_CONNECT_TIMEOUT",
    15_000,
    "timeout of TLS handshakes at gateways; 0s for none",
  ),
  maxConnectionsPerSocketEvent: integerFeature(
    "MAX_CONNECTIONS_PER_SOCKET_EVENT_LOOP",
    1,
    "maximum number of connections that a listener accepts per socket event; 0 for no limit",
  ),
  routeCollapse: booleanFeature(
    "PILOT_ENABLE_ROUTE_COLLAPSE_OPTIMIZATION",
    true,
    "merge virtual hosts with equal routes",
  ),
  disableShadowHostSuffix: booleanFeature(
    "DISABLE_SHADOW_HOST_SUFFIX",
    true,
    "do not append -shadow to the host of mirrored requests",
  ),

  // Security
  remoteJwks: stringFeature(
    "PILOT_JWT_ENABLE_REMOTE_JWKS",
    "false",
    "fetcher of the keys of a jwksUri: istiod or false for istiod, envoy for the proxy, hybrid or true for the proxy if the server is in the mesh and istiod otherwise",
  ),
  skipValidateTrustDomain: booleanFeature(
    "PILOT_SKIP_VALIDATE_TRUST_DOMAIN",
    false,
    "do not verify the trust domain of peers",
  ),
  multipleCustomAuthzProviders: booleanFeature(
    "PILOT_ENABLE_MULTIPLE_CUSTOM_AUTHZ_PROVIDERS",
    false,
    "allow several providers of CUSTOM policies for one workload",
  ),
  compliancePolicy: stringFeature(
    "COMPLIANCE_POLICY",
    "",
    "restriction of TLS versions, cipher suites and curves: fips-140-2, fips-140-3, pqc, or empty for none",
  ),

  // Telemetry
  traceSampling: floatFeature("PILOT_TRACE_SAMPLING", 1, "percentage of requests that are traced, 0 to 100"),
  telemetryLabel: booleanFeature(
    "PILOT_ENABLE_TELEMETRY_LABEL",
    true,
    "add the metadata of services to clusters, for telemetry",
  ),
  endpointTelemetryLabel: booleanFeature(
    "PILOT_ENDPOINT_TELEMETRY_LABEL",
    true,
    "add the metadata of workloads to endpoints, for telemetry",
  ),
  metadataExchange: booleanFeature("PILOT_ENABLE_METADATA_EXCHANGE", true, "generate the metadata exchange filters"),
  metadataExchangeAdditionalLabels: listFeature(
    "PILOT_MX_ADDITIONAL_LABELS",
    "further labels of workloads that are exchanged, separated by commas",
  ),

  envoyFilterStatus: booleanFeature(
    "PILOT_ENVOY_FILTER_STATS",
    false,
    "count the patches of EnvoyFilters in pilot_envoy_filter_status",
  ),

  // Ambient
  ambient,
  sendHbone: ambientFlag(
    "PILOT_ENABLE_SENDING_HBONE",
    true,
    "let sidecars and gateways originate HBONE tunnels; with PILOT_ENABLE_AMBIENT only",
  ),
  sidecarListensHbone: ambientFlag(
    "PILOT_ENABLE_SIDECAR_LISTENING_HBONE",
    true,
    "let sidecars terminate HBONE tunnels; with PILOT_ENABLE_AMBIENT only",
  ),
  preferHbone: ambientFlag(
    "PILOT_PREFER_SENDING_HBONE",
    false,
    "prefer HBONE to mutual TLS for endpoints that accept both; with PILOT_ENABLE_AMBIENT only",
  ),
  ambientBaggage: ambientFlag(
    "AMBIENT_ENABLE_BAGGAGE",
    false,
    "exchange peer metadata in the baggage header of tunnels; with PILOT_ENABLE_AMBIENT only",
  ),
  /** Bytes; 0 keeps Envoy's default. */
  hboneInitialStreamWindow: ambientNumber(
    "PILOT_HBONE_INITIAL_STREAM_WINDOW_SIZE",
    "initial stream window of tunnels in bytes; 0 for Envoy's default; with PILOT_ENABLE_AMBIENT only",
  ),
  /** Bytes; 0 keeps Envoy's default. */
  hboneInitialConnectionWindow: ambientNumber(
    "PILOT_HBONE_INITIAL_CONNECTION_WINDOW_SIZE",
    "initial connection window of tunnels in bytes; 0 for Envoy's default; with PILOT_ENABLE_AMBIENT only",
  ),

  // This istiod
  clusterId: nameFeature("CLUSTER_ID", "Kubernetes", "ID of the cluster that istiod runs in; set by --clusterID"),
  domainSuffix: discoveryFeatures.domain,
  ingressNamespace: nameFeature(
    "K8S_INGRESS_NS",
    "istio-system",
    "namespace of the gateways that serve Kubernetes Ingresses",
  ),
} as const;
