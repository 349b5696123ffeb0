import {
  booleanFeature,
  durationFeature,
  type Feature,
  featureWhen,
  floatFeature,
  integerFeature,
  listFeature,
  nameFeature,
  stringFeature,
} from "./feature-flag.js";

const ambient = booleanFeature("PILOT_ENABLE_AMBIENT", false);

/** A flag of ambient mode: `whenAmbient` is its default there, and it is false elsewhere. */
const ambientFlag = (variable: string, whenAmbient: boolean): Feature<boolean> =>
  featureWhen(ambient, booleanFeature(variable, whenAmbient), false);
const ambientNumber = (variable: string): Feature<number> => featureWhen(ambient, integerFeature(variable, 0), 0);

/**
 * The environment variables that affect generated configuration, with istiod's defaults (pilot/pkg/features). Call one
 * with the query context to read it: `features.dualStack(q)`.
 */
export const features = {
  // Resource selection
  /** Gateways receive only the clusters that their routes refer to. */
  filterGatewayClusters: booleanFeature("PILOT_FILTER_GATEWAY_CLUSTER_CONFIG", false),
  /** A gateway workload selects only Gateways of its own namespace. */
  scopeGatewayToNamespace: booleanFeature("PILOT_SCOPE_GATEWAY_TO_NAMESPACE", false),
  /** Gateways of the Gateway API do not merge with Istio Gateways of other namespaces. */
  strictGatewayMerging: booleanFeature("PILOT_ENABLE_STRICT_GATEWAY_MERGING", true),
  /** Workload selectors apply to gateways of the Gateway API too. */
  selectorBasedGatewayApiPolicy: booleanFeature("ENABLE_SELECTOR_BASED_K8S_GATEWAY_POLICY", true),
  /** Egress hosts without a port select services in the same way as those with one. */
  unifiedSidecarScope: booleanFeature("PILOT_UNIFIED_SIDECAR_SCOPE", true),
  /** If several namespaces declare a hostname, a Kubernetes Service is preferred, then the oldest service. */
  sidecarPicksBestServiceNamespace: booleanFeature("PILOT_SIDECAR_PICK_BEST_SERVICE_NAMESPACE", true),
  /** Service ports get inbound listeners in addition to those of Sidecar.ingress. */
  sidecarServiceInboundListenerMerge: booleanFeature("PILOT_ALLOW_SIDECAR_SERVICE_INBOUND_LISTENER_MERGE", false),
  tlsOnSidecarIngress: booleanFeature("ENABLE_TLS_ON_SIDECAR_INGRESS", false),
  /** DestinationRules for one host are not merged if their exportTo differs. */
  enhancedDestinationRuleMerge: booleanFeature("ENABLE_ENHANCED_DESTINATIONRULE_MERGE", true),

  // Addresses and names
  dualStack: booleanFeature("ISTIO_DUAL_STACK", false),
  additionalIpv4OutboundListener: booleanFeature("ISTIO_ENABLE_IPV4_OUTBOUND_LISTENER_FOR_IPV6_CLUSTERS", false),
  ipAutoallocate: booleanFeature("PILOT_ENABLE_IP_AUTOALLOCATE", true),
  /** Virtual hosts also have the fully qualified domain name with its trailing dot. */
  absoluteFqdnDomains: booleanFeature("PILOT_ENABLE_ABSOLUTE_FQDN_VHOST_DOMAIN", true),
  multiclusterHeadless: booleanFeature("ENABLE_MULTICLUSTER_HEADLESS", true),
  headlessFilterChainListener: booleanFeature("PILOT_ENABLE_HEADLESS_FILTER_CHAIN_LISTENER", false),

  // Services and endpoints
  sendUnhealthyEndpoints: booleanFeature("PILOT_SEND_UNHEALTHY_ENDPOINTS", false),
  autoSendUnhealthyEndpoints: booleanFeature("PILOT_AUTO_SEND_UNHEALTHY_ENDPOINTS", true),
  edsForHeadless: booleanFeature("PILOT_ENABLE_EDS_FOR_HEADLESS_SERVICES", false),
  persistentSessionFilter: booleanFeature("PILOT_ENABLE_PERSISTENT_SESSION_FILTER", false),
  persistentSessionLabel: stringFeature("PILOT_PERSISTENT_SESSION_LABEL", "istio.io/persistent-session"),
  persistentSessionHeaderLabel: stringFeature(
    "PILOT_PERSISTENT_SESSION_HEADER_LABEL",
    "istio.io/persistent-session-header",
  ),
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
  /** Milliseconds; 0 disables the timeout. */
  gatewayTransportSocketConnectTimeout: durationFeature("PILOT_GATEWAY_TRANSPORT_SOCKET_CONNECT_TIMEOUT", 15_000),
  maxConnectionsPerSocketEvent: integerFeature("MAX_CONNECTIONS_PER_SOCKET_EVENT_LOOP", 1),
  routeCollapse: booleanFeature("PILOT_ENABLE_ROUTE_COLLAPSE_OPTIMIZATION", true),
  disableShadowHostSuffix: booleanFeature("DISABLE_SHADOW_HOST_SUFFIX", true),

  // Security
  /** "istiod", "false", "hybrid", "true" or "envoy": whether istiod or the proxy fetches the keys of a jwksUri. */
  remoteJwks: stringFeature("PILOT_JWT_ENABLE_REMOTE_JWKS", "false"),
  skipValidateTrustDomain: booleanFeature("PILOT_SKIP_VALIDATE_TRUST_DOMAIN", false),
  multipleCustomAuthzProviders: booleanFeature("PILOT_ENABLE_MULTIPLE_CUSTOM_AUTHZ_PROVIDERS", false),
  /** "fips-140-2", "pqc", "fips-140-3" or empty: restricts TLS versions, cipher suites and curves. */
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
  sendHbone: ambientFlag("PILOT_ENABLE_SENDING_HBONE", true),
  sidecarListensHbone: ambientFlag("PILOT_ENABLE_SIDECAR_LISTENING_HBONE", true),
  preferHbone: ambientFlag("PILOT_PREFER_SENDING_HBONE", false),
  ambientBaggage: ambientFlag("AMBIENT_ENABLE_BAGGAGE", false),
  /** Bytes; 0 keeps Envoy's default. */
  hboneInitialStreamWindow: ambientNumber("PILOT_HBONE_INITIAL_STREAM_WINDOW_SIZE"),
  /** Bytes; 0 keeps Envoy's default. */
  hboneInitialConnectionWindow: ambientNumber("PILOT_HBONE_INITIAL_CONNECTION_WINDOW_SIZE"),

  // This istiod
  /** ID of the cluster that this istiod runs in. */
  clusterId: nameFeature("CLUSTER_ID", "Kubernetes"),
  /** Domain suffix of Kubernetes services; set from the flag --domain. */
  domainSuffix: nameFeature("DOMAIN_SUFFIX", "cluster.local"),
  /** Namespace of the gateways that serve Kubernetes Ingresses. */
  ingressNamespace: nameFeature("K8S_INGRESS_NS", "istio-system"),
} as const;

/** Names of all features' environment variables. */
export const featureVariables: readonly string[] = Object.values(features).map(({ variable }) => variable);
