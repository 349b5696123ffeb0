import { booleanFeature, durationFeature, type Feature, featureWhen, floatFeature, integerFeature, listFeature, nameFeature, stringFeature } from "./feature-flag.js";

const ambient = booleanFeature("PILOT_ENABLE_AMBIENT", false);

/** A flag of ambient mode: it has its own default there, and is ignored elsewhere. */
const ambientFlag = (variable: string, whenAmbient: boolean): Feature<boolean> => featureWhen(ambient, booleanFeature(variable, whenAmbient), false);
const ambientNumber = (variable: string): Feature<number> => featureWhen(ambient, integerFeature(variable, 0), 0);

const mcsServiceDiscovery = booleanFeature("ENABLE_MCS_SERVICE_DISCOVERY", false);
const mcsHost = featureWhen(mcsServiceDiscovery, booleanFeature("ENABLE_MCS_HOST", false), false);

/**
 * The environment variables that shape what proxies receive, with the defaults of istiod's code (pilot/pkg/features).
 * Call one with the query context to read it: `features.dualStack(q)`.
 */
export const features = {
  // Which resources a proxy is given
  /** Gateways receive only the clusters that their routes name. */
  filterGatewayClusters: booleanFeature("PILOT_FILTER_GATEWAY_CLUSTER_CONFIG", false),
  /** A gateway workload selects only Gateways of its own namespace. */
  scopeGatewayToNamespace: booleanFeature("PILOT_SCOPE_GATEWAY_TO_NAMESPACE", false),
  /** Gateways of the Gateway API do not merge with Istio Gateways of other namespaces. */
  strictGatewayMerging: booleanFeature("PILOT_ENABLE_STRICT_GATEWAY_MERGING", true),
  /** Workload selectors apply to gateways of the Gateway API too. */
  selectorBasedGatewayApiPolicy: booleanFeature("ENABLE_SELECTOR_BASED_K8S_GATEWAY_POLICY", true),
  gatewayApi: booleanFeature("PILOT_ENABLE_GATEWAY_API", true),
  alphaGatewayApi: booleanFeature("PILOT_ENABLE_ALPHA_GATEWAY_API", false),
  gatewayApiManualDeployment: booleanFeature("ENABLE_GATEWAY_API_MANUAL_DEPLOYMENT", true),
  gatewayApiDefaultClass: stringFeature("PILOT_GATEWAY_API_DEFAULT_GATEWAYCLASS_NAME", "istio"),
  gatewayApiController: stringFeature("PILOT_GATEWAY_API_CONTROLLER_NAME", "istio.io/gateway-controller"),
  gatewayApiInferenceExtension: booleanFeature("ENABLE_GATEWAY_API_INFERENCE_EXTENSION", false),
  multiNetworkGatewayApi: booleanFeature("PILOT_MULTI_NETWORK_DISCOVER_GATEWAY_API", true),
  /** An egress host of a Sidecar without a port imports as any other does. */
  unifiedSidecarScope: booleanFeature("PILOT_UNIFIED_SIDECAR_SCOPE", true),
  /** Among several namespaces with one hostname, Kubernetes services come first, then the oldest. */
  sidecarPicksBestServiceNamespace: booleanFeature("PILOT_SIDECAR_PICK_BEST_SERVICE_NAMESPACE", true),
  /** Service ports get inbound listeners beside those of Sidecar.ingress. */
  sidecarServiceInboundListenerMerge: booleanFeature("PILOT_ALLOW_SIDECAR_SERVICE_INBOUND_LISTENER_MERGE", false),
  tlsOnSidecarIngress: booleanFeature("ENABLE_TLS_ON_SIDECAR_INGRESS", false),
  /** DestinationRules of one host with different exportTo are kept apart. */
  enhancedDestinationRuleMerge: booleanFeature("ENABLE_ENHANCED_DESTINATIONRULE_MERGE", true),
  wildcardServiceEntriesForTls: booleanFeature("ENABLE_WILDCARD_HOST_SERVICE_ENTRIES_FOR_TLS", false),

  // Addresses and names
  dualStack: booleanFeature("ISTIO_DUAL_STACK", false),
  additionalIpv4OutboundListener: booleanFeature("ISTIO_ENABLE_IPV4_OUTBOUND_LISTENER_FOR_IPV6_CLUSTERS", false),
  ipAutoallocate: booleanFeature("PILOT_ENABLE_IP_AUTOALLOCATE", true),
  ipAutoallocateIpv4Prefix: stringFeature("PILOT_IP_AUTOALLOCATE_IPV4_PREFIX", "240.240.0.0/16"),
  ipAutoallocateIpv6Prefix: stringFeature("PILOT_IP_AUTOALLOCATE_IPV6_PREFIX", "2001:2::/48"),
  /** Virtual hosts carry the fully qualified name with its final dot too. */
  absoluteFqdnDomains: booleanFeature("PILOT_ENABLE_ABSOLUTE_FQDN_VHOST_DOMAIN", true),
  multiclusterHeadless: booleanFeature("ENABLE_MULTICLUSTER_HEADLESS", true),
  headlessFilterChainListener: booleanFeature("PILOT_ENABLE_HEADLESS_FILTER_CHAIN_LISTENER", false),
  resolveHostnameGateways: booleanFeature("RESOLVE_HOSTNAME_GATEWAYS", true),
  proxyFindPodByIp: booleanFeature("ENABLE_PROXY_FIND_POD_BY_IP", false),
  mcsServiceDiscovery,
  mcsHost,
  mcsClusterLocal: featureWhen(mcsHost, booleanFeature("ENABLE_MCS_CLUSTER_LOCAL", false), false),

  // Services and endpoints
  serviceEntrySelectsPods: booleanFeature("PILOT_ENABLE_SERVICEENTRY_SELECT_PODS", true),
  serviceSelectsWorkloadEntries: booleanFeature("PILOT_ENABLE_K8S_SELECT_WORKLOAD_ENTRIES", true),
  crossClusterWorkloadEntry: booleanFeature("PILOT_ENABLE_CROSS_CLUSTER_WORKLOAD_ENTRY", true),
  sendUnhealthyEndpoints: booleanFeature("PILOT_SEND_UNHEALTHY_ENDPOINTS", false),
  autoSendUnhealthyEndpoints: booleanFeature("PILOT_AUTO_SEND_UNHEALTHY_ENDPOINTS", true),
  edsForHeadless: booleanFeature("PILOT_ENABLE_EDS_FOR_HEADLESS_SERVICES", false),
  persistentSessionFilter: booleanFeature("PILOT_ENABLE_PERSISTENT_SESSION_FILTER", false),
  persistentSessionLabel: stringFeature("PILOT_PERSISTENT_SESSION_LABEL", "istio.io/persistent-session"),
  persistentSessionHeaderLabel: stringFeature("PILOT_PERSISTENT_SESSION_HEADER_LABEL", "istio.io/persistent-session-header"),
  drainingLabel: stringFeature("PILOT_DRAINING_LABEL", "istio.io/draining"),
  localityWeightedLb: booleanFeature("ENABLE_LOCALITY_WEIGHTED_LB_CONFIG", false),

  // Clusters
  dnsCaresUdpMaxQueries: integerFeature("PILOT_DNS_CARES_UDP_MAX_QUERIES", 100),
  /** Milliseconds. */
  dnsJitter: durationFeature("PILOT_DNS_JITTER_DURATION", 100),
  allowAnyDynamicDnsMaxHosts: integerFeature("PILOT_ALLOW_ANY_DYNAMIC_DNS_MAX_HOSTS", 1024),
  disableTrackRemaining: booleanFeature("DISABLE_TRACK_REMAINING_CB_METRICS", true),
  preferDestinationRuleTlsForExternal: booleanFeature("PREFER_DESTINATIONRULE_TLS_FOR_EXTERNAL_SERVICES", true),
  canonicalServiceForMeshExternal: booleanFeature("LABEL_CANONICAL_SERVICES_FOR_MESH_EXTERNAL_SERVICE_ENTRIES", false),

  // Listeners and routes
  http10: booleanFeature("PILOT_HTTP10", false),
  proxy100Continue: booleanFeature("ENABLE_100_CONTINUE_HEADERS", true),
  useRemoteAddress: booleanFeature("PILOT_SIDECAR_USE_REMOTE_ADDRESS", false),
  hcmInternalNetworks: booleanFeature("ENABLE_HCM_INTERNAL_NETWORKS", false),
  quicListeners: booleanFeature("PILOT_ENABLE_QUIC_LISTENERS", false),
  mysqlFilter: booleanFeature("PILOT_ENABLE_MYSQL_FILTER", false),
  redisFilter: booleanFeature("PILOT_ENABLE_REDIS_FILTER", false),
  mongoFilter: booleanFeature("PILOT_ENABLE_MONGO_FILTER", true),
  alpnFilter: booleanFeature("PILOT_ENABLE_ALPN_FILTER", true),
  disableMxAlpn: booleanFeature("PILOT_DISABLE_MX_ALPN", false),
  /** Milliseconds; 0 turns the limit off. */
  gatewayTransportSocketConnectTimeout: durationFeature("PILOT_GATEWAY_TRANSPORT_SOCKET_CONNECT_TIMEOUT", 15_000),
  maxConnectionsPerSocketEvent: integerFeature("MAX_CONNECTIONS_PER_SOCKET_EVENT_LOOP", 1),
  statusPortProxyProtocol: booleanFeature("ENVOY_STATUS_PORT_ENABLE_PROXY_PROTOCOL", false),
  routeCollapse: booleanFeature("PILOT_ENABLE_ROUTE_COLLAPSE_OPTIMIZATION", true),
  disableShadowHostSuffix: booleanFeature("DISABLE_SHADOW_HOST_SUFFIX", true),
  wasmRemoteLoadConversion: booleanFeature("ISTIO_AGENT_ENABLE_WASM_REMOTE_LOAD_CONVERSION", true),

  // Security
  /** "istiod", "false", "hybrid", "true" or "envoy": who fetches the keys of a jwksUri. */
  remoteJwks: stringFeature("PILOT_JWT_ENABLE_REMOTE_JWKS", "false"),
  skipValidateTrustDomain: booleanFeature("PILOT_SKIP_VALIDATE_TRUST_DOMAIN", false),
  multipleCustomAuthzProviders: booleanFeature("PILOT_ENABLE_MULTIPLE_CUSTOM_AUTHZ_PROVIDERS", false),
  multiRootMesh: booleanFeature("ISTIO_MULTIROOT_MESH", false),
  layeredWaypointAuthorization: booleanFeature("ENABLE_LAYERED_WAYPOINT_AUTHORIZATION_POLICIES", false),
  trustedGatewayCidr: listFeature("TRUSTED_GATEWAY_CIDR"),
  /** "fips-140-2", "pqc", "fips-140-3" or empty: limits of TLS versions, ciphers and curves. */
  compliancePolicy: stringFeature("COMPLIANCE_POLICY", ""),

  // Telemetry
  /** Percent of requests, 0 to 100. */
  traceSampling: floatFeature("PILOT_TRACE_SAMPLING", 1),
  telemetryLabel: booleanFeature("PILOT_ENABLE_TELEMETRY_LABEL", true),
  endpointTelemetryLabel: booleanFeature("PILOT_ENDPOINT_TELEMETRY_LABEL", true),
  metadataExchange: booleanFeature("PILOT_ENABLE_METADATA_EXCHANGE", true),
  metadataExchangeAdditionalLabels: listFeature("PILOT_MX_ADDITIONAL_LABELS"),

  // Ambient
  ambient,
  ambientWaypoints: ambientFlag("PILOT_ENABLE_AMBIENT_WAYPOINTS", true),
  sendHbone: ambientFlag("PILOT_ENABLE_SENDING_HBONE", true),
  sidecarListensHbone: ambientFlag("PILOT_ENABLE_SIDECAR_LISTENING_HBONE", true),
  preferHbone: ambientFlag("PILOT_PREFER_SENDING_HBONE", false),
  autoAllowWaypoint: ambientFlag("PILOT_AUTO_ALLOW_WAYPOINT_POLICY", false),
  ingressWaypointRouting: ambientFlag("ENABLE_INGRESS_WAYPOINT_ROUTING", true),
  ambientMultiNetwork: ambientFlag("AMBIENT_ENABLE_MULTI_NETWORK", false),
  ambientBaggage: ambientFlag("AMBIENT_ENABLE_BAGGAGE", false),
  ambientWaypointMultiNetwork: ambientFlag("AMBIENT_ENABLE_MULTI_NETWORK_WAYPOINT", true),
  ambientIngressMultiNetwork: ambientFlag("AMBIENT_ENABLE_MULTI_NETWORK_INGRESS", false),
  ambientDryRunAuthorization: ambientFlag("AMBIENT_ENABLE_DRY_RUN_AUTHORIZATION_POLICY", false),
  /** Bytes; 0 leaves Envoy's default. */
  hboneInitialStreamWindow: ambientNumber("PILOT_HBONE_INITIAL_STREAM_WINDOW_SIZE"),
  /** Bytes; 0 leaves Envoy's default. */
  hboneInitialConnectionWindow: ambientNumber("PILOT_HBONE_INITIAL_CONNECTION_WINDOW_SIZE"),

  // Where this istiod is
  /** The cluster that this istiod belongs to. */
  clusterId: nameFeature("CLUSTER_ID", "Kubernetes"),
  /** Domain suffix of Kubernetes services; the flag --domain, handed in as an input. */
  domainSuffix: nameFeature("DOMAIN_SUFFIX", "cluster.local"),
  /** Namespace of the control plane. */
  systemNamespace: nameFeature("POD_NAMESPACE", "istio-system"),
  /** Namespace of the gateways that serve Kubernetes Ingresses. */
  ingressNamespace: nameFeature("K8S_INGRESS_NS", "istio-system"),
  /** Revision of this istiod; empty for the default. */
  revision: stringFeature("REVISION", ""),
} as const;
