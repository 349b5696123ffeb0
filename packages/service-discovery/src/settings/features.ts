import {
  booleanFeature,
  configCluster,
  type Feature,
  listFeature,
  nameFeature,
  productBounds,
  stringFeature,
} from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";

const multiClusterServices = booleanFeature(
  "ENABLE_MCS_SERVICE_DISCOVERY",
  false,
  "limit endpoints to clients of their own cluster, unless a ServiceExport exports the service",
);
const multiClusterHost = booleanFeature(
  "ENABLE_MCS_HOST",
  false,
  "serve the clusterset.local hosts of imported services; with ENABLE_MCS_SERVICE_DISCOVERY only",
);
const multiClusterLocal = booleanFeature(
  "ENABLE_MCS_CLUSTER_LOCAL",
  false,
  "resolve the cluster.local hosts of services to endpoints of the client's cluster only; with ENABLE_MCS_HOST only",
);

/**
 * The environment variables that affect service discovery, with istiod's defaults (pilot/pkg/features). Call one with
 * the query context to read it.
 */
export const features = {
  domain: nameFeature("DOMAIN_SUFFIX", "cluster.local", "DNS domain suffix of the cluster; set by --domain"),
  systemNamespace: nameFeature(
    "POD_NAMESPACE",
    "istio-system",
    "namespace whose label topology.istio.io/network names the network of a cluster",
  ),
  ambient: booleanFeature("PILOT_ENABLE_AMBIENT", false, "enable HBONE tunnels of sidecars and gateways"),
  dualStack: booleanFeature("ISTIO_DUAL_STACK", false, "enable IPv4 and IPv6 for services and proxies that have both"),
  ipAutoallocate: booleanFeature(
    "PILOT_ENABLE_IP_AUTOALLOCATE",
    true,
    "allocate addresses to ServiceEntries without own ones, in their status, and use them",
  ),
  serviceEntrySelectsPods: booleanFeature(
    "PILOT_ENABLE_SERVICEENTRY_SELECT_PODS",
    true,
    "let ServiceEntries with a workloadSelector select Pods",
  ),
  serviceSelectsWorkloadEntries: booleanFeature(
    "PILOT_ENABLE_K8S_SELECT_WORKLOAD_ENTRIES",
    true,
    "let Kubernetes Services select WorkloadEntries",
  ),
  crossClusterWorkloadEntries: booleanFeature(
    "PILOT_ENABLE_CROSS_CLUSTER_WORKLOAD_ENTRY",
    true,
    "read the WorkloadEntries of remote clusters, which Services of their cluster select",
  ),
  workloadEntryHealthChecks: booleanFeature(
    "PILOT_ENABLE_WORKLOAD_ENTRY_HEALTHCHECKS",
    true,
    "exclude WorkloadEntries whose condition Healthy is false",
  ),
  proxyFindPodByIp: booleanFeature(
    "ENABLE_PROXY_FIND_POD_BY_IP",
    false,
    "find the Pod of a proxy by its address if there is none with its name",
  ),
  maxEndpoints: productBounds.endpoints,
  resolveHostnameGateways: booleanFeature(
    "RESOLVE_HOSTNAME_GATEWAYS",
    true,
    "resolve the hostnames of load balancers of network gateways",
  ),
  networkGatewayNamespaces: listFeature(
    "ISTIOD_NETWORK_GATEWAY_NAMESPACES",
    "namespaces, apart from the root namespace, whose Services with the label topology.istio.io/network are gateways of networks; * for all, as in Istio",
  ),
  persistentSessionLabel: stringFeature(
    "PILOT_PERSISTENT_SESSION_LABEL",
    "istio.io/persistent-session",
    "label of services with persistent sessions by cookie",
  ),
  persistentSessionHeaderLabel: stringFeature(
    "PILOT_PERSISTENT_SESSION_HEADER_LABEL",
    "istio.io/persistent-session-header",
    "label of services with persistent sessions by header",
  ),
  canonicalServiceForMeshExternal: booleanFeature(
    "LABEL_CANONICAL_SERVICES_FOR_MESH_EXTERNAL_SERVICE_ENTRIES",
    false,
    "label the endpoints of external ServiceEntries with the canonical service of the ServiceEntry",
  ),
  multiClusterServices,
  multiClusterHost,
  multiClusterLocal,
  gatewayResources: booleanFeature(
    "PILOT_MULTI_NETWORK_DISCOVER_GATEWAY_API",
    true,
    "take Gateways with the label topology.istio.io/network for gateways of other networks",
  ),
  alphaGatewayApi: booleanFeature(
    "PILOT_ENABLE_ALPHA_GATEWAY_API",
    false,
    "enable the experimental kinds of the Gateway API: XBackend and XBackendTrafficPolicy",
  ),
  exportsAll: booleanFeature(
    "ENABLE_MCS_AUTO_EXPORT",
    false,
    "treat every Service that is not cluster-local as exported",
  ),
} as const satisfies Readonly<Record<string, Feature<unknown>>>;

/** Settings that combine features, and the features that are read alone. */
export const settings = {
  ...features,
  /** ID of the config cluster. */
  configCluster,
  /** Endpoints are limited to clients of the same cluster, unless it exports the service. */
  exportedOnly: multiClusterServices,
  /** Imported services also have a clusterset hostname. */
  clusterSetHosts: (q: QueryContext): boolean => multiClusterServices(q) && multiClusterHost(q),
  /** The Services' own hostnames resolve only to endpoints in the client's cluster. */
  ownHostsAreLocal: (q: QueryContext): boolean =>
    multiClusterServices(q) && multiClusterHost(q) && multiClusterLocal(q),
} as const;
