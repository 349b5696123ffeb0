import { boundFeature, type Feature } from "./feature.js";

/**
 * Bounds of what a few lists of one object multiply to in the resources of each proxy. An object of a few kilobytes
 * would otherwise become gigabytes. They are far above real meshes, and such that what they allow fits into the agent's
 * limit of messages (256 MiB) and the memory of a proxy of the default size. See design note 022.
 */
export const productBounds = {
  /** About 0.4 KB each on the wire. */
  routes: boundFeature(
    "ISTIOD_MAX_ROUTES_OF_VIRTUAL_SERVICE",
    50_000,
    "maximum of hosts × matches of http routes of a VirtualService, also with the routes of its delegates",
  ),
  gatewayRoutes: boundFeature(
    "ISTIOD_MAX_GATEWAY_ROUTES_OF_VIRTUAL_SERVICE",
    250_000,
    "maximum of servers of a Gateway × hosts × matches of http routes of a VirtualService that is bound to it; also of listeners and Services × hosts × matches of an HTTPRoute or GRPCRoute",
  ),
  gatewayBytes: boundFeature(
    "ISTIOD_MAX_GATEWAY_BYTES_OF_VIRTUAL_SERVICE",
    192 * 1024 * 1024,
    "maximum of servers of a Gateway × hosts × bytes of http routes of a VirtualService that is bound to it; also of listeners and Services × hosts × bytes of rules of an HTTPRoute or GRPCRoute",
  ),
  /** 25 bytes each in an Envoy, and about 3 µs of its CPU whenever it gets the routes. */
  instructions: boundFeature(
    "ISTIOD_MAX_PATTERN_INSTRUCTIONS_OF_ROUTES",
    5_000_000,
    "maximum of hosts × instructions of the programs of all regular expressions of a VirtualService, HTTPRoute or GRPCRoute; a pattern with groups, classes or counts has at least 250",
  ),
  chains: boundFeature(
    "ISTIOD_MAX_FILTER_CHAINS_OF_VIRTUAL_SERVICE",
    10_000,
    "maximum of hosts × matches of tls and tcp routes of a VirtualService",
  ),
  clusters: boundFeature(
    "ISTIOD_MAX_CLUSTERS_OF_SERVICE",
    5000,
    "maximum number of clusters of a service: ports × (subsets + 1); also of hosts × ports of a ServiceEntry",
  ),
  ruleClusters: boundFeature(
    "ISTIOD_MAX_CLUSTERS_OF_DESTINATION_RULE",
    100_000,
    "maximum of subsets × ports of all services that a DestinationRule with a wildcard host and more than 16 subsets covers",
  ),
  rulePolicyBytes: boundFeature(
    "ISTIOD_MAX_POLICY_BYTES_OF_DESTINATION_RULE",
    128 * 1024 * 1024,
    "maximum of the bytes of a DestinationRule's policies in the clusters of all ports that it covers, each of which repeats them; beyond it, the services have no clusters, and requests to them fail",
  ),
  imports: boundFeature(
    "ISTIOD_MAX_WILDCARD_HOSTS_OF_SIDECAR",
    250,
    "maximum number of wildcard hosts in all egress listeners with a port of a Sidecar, each of which imports all services of a namespace or of the mesh",
  ),
  endpoints: boundFeature(
    "ISTIOD_MAX_ENDPOINTS_OF_SERVICE_ENTRY",
    250_000,
    "maximum of hosts × ports × addresses × endpoints of a ServiceEntry, also with the workloads that it selects",
  ),
  addresses: boundFeature(
    "ISTIOD_MAX_ADDRESSES_OF_SERVICE_ENTRY",
    20_000,
    "maximum of hosts × ports × addresses of a ServiceEntry",
  ),
  policyBytes: boundFeature(
    "ISTIOD_MAX_POLICY_BYTES_OF_WORKLOAD",
    64 * 1024 * 1024,
    "maximum of the bytes of AuthorizationPolicies and RequestAuthentications in all filter chains of a workload or gateway, each of which repeats them; beyond it, every request is denied",
  ),
  telemetryBytes: boundFeature(
    "ISTIOD_MAX_BYTES_OF_TELEMETRY",
    256 * 1024,
    "maximum of the bytes that a Telemetry adds to each filter chain: custom tags, filters of access logs, and overrides × metrics",
  ),
  filterBytes: boundFeature(
    "ISTIOD_MAX_BYTES_OF_ENVOY_FILTER",
    256 * 1024,
    "maximum of the bytes of values of an EnvoyFilter's patches that may apply to any number of resources: their match names no cluster, listener, port, route configuration or virtual host",
  ),
  modes: boundFeature(
    "ISTIOD_MAX_PORTS_OF_PEER_AUTHENTICATION",
    1000,
    "maximum number of ports in a PeerAuthentication, each of which has filter chains of its own",
  ),
  bytes: boundFeature(
    "ISTIOD_MAX_COPIED_BYTES_OF_OBJECT",
    64 * 1024 * 1024,
    "maximum of the bytes of settings of one object that its lists repeat: hosts × routes of a VirtualService, subsets × trafficPolicy of a DestinationRule",
  ),
} satisfies Readonly<Record<string, Feature<number>>>;

/** Values of the bounds. */
export type ProductBounds = Readonly<Record<keyof typeof productBounds, number>>;

/** Returns the bounds that an environment sets; the default of a variable with an invalid value. */
export function readProductBounds(env: Readonly<Record<string, string | undefined>>): ProductBounds {
  const entries = Object.entries(productBounds).map(([name, { variable, setting }]) => {
    const text = env[variable];
    return [name, text === undefined ? setting.default : (setting.parse(text) ?? setting.default)] as const;
  });
  return Object.fromEntries(entries) as ProductBounds;
}
