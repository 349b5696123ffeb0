import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  type Cluster,
  Cluster_CommonLbConfigSchema,
  Cluster_DiscoveryType,
  ClusterSchema,
} from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { HealthStatus } from "@istiod/envoy-api/envoy/config/core/v3/health_check";
import { query, type QueryContext } from "@istiod/incremental";
import type { Subset } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import {
  type ConsolidatedRule,
  destinationRuleFor,
  findSubset,
  grpcNeedsAllResources,
  grpcSupports,
  mesh,
  portPolicy,
  scopedService,
  scopeOf,
  serviceInScope,
  subsetPolicy,
  withMeshDefaults,
} from "@istiod/push-context";
import { type Resource, resource } from "@istiod/resources";
import {
  endpointSource,
  inlineEndpoints,
  portNumbered,
  type Service,
  serviceIdentities,
  type ServicePort,
} from "@istiod/service-discovery";
import { address } from "../envoy/address.js";
import { isResolvedByProxy } from "../endpoints/endpoint-target.js";
import { delimitedStatPrefix, parseClusterName } from "../resource-names.js";
import { sessionKeyOf } from "../routes/route/stateful-session.js";
import { applyGrpcPolicy } from "./cluster-policy.js";
import { type ClusterName, isBeyondBounds } from "./served-clusters.js";

/**
 * The cluster of a port of a service or of one of its subsets, by name, `outbound|80|v1|cart.shop.svc.cluster.local`.
 * Undefined if the client's scope has no such service, port or subset, or it is beyond the bounds of the service's
 * clusters, except for a library that loses absent clusters: it has one without endpoints.
 * Source: pilot/pkg/networking/grpcgen/cds.go.
 */
export const grpcCluster = query("grpcCluster", (q, name: string): Resource | undefined => {
  const parsed = parseClusterName(name);
  if (parsed === undefined || parsed.hostname === "" || parsed.direction !== "outbound" || parsed.sniDnat)
    return undefined;
  const target = findTarget(q, parsed);
  if (target !== undefined) return resource(name, toBinary(ClusterSchema, clusterOf(q, name, target)));
  return q.ask(grpcNeedsAllResources, undefined)
    ? resource(name, toBinary(ClusterSchema, newCluster(name, discoveredByEds(name))))
    : undefined;
});

/** A port of a service, or of one of its subsets, with the rule that applies to it. */
interface ClusterTarget {
  readonly service: Service;
  readonly port: ServicePort;
  readonly rule: ConsolidatedRule | undefined;
  readonly subset: Subset | undefined;
}

function findTarget(q: QueryContext, parsed: ClusterName): ClusterTarget | undefined {
  const { hostname, port: number, subset: name } = parsed;
  const scoped = q.call(serviceInScope, { scope: scopeOf(q), hostname });
  const service = scoped && q.call(scopedService, scoped);
  const port = service && portNumbered(service, number);
  if (service === undefined || port === undefined || isBeyondBounds(q, parsed)) return undefined;
  const rule = q.call(destinationRuleFor, { host: service.hostname, serviceNamespace: service.namespace });
  const subset = findSubset(rule?.spec, name);
  return name !== "" && subset === undefined ? undefined : { service, port, rule, subset };
}

function clusterOf(q: QueryContext, name: string, { service, port, rule, subset }: ClusterTarget): Cluster {
  const cluster = newCluster(name, discoveryOf(q, name, service, port));
  const ofService = withMeshDefaults(mesh(q).defaultTrafficPolicy, portPolicy(rule?.spec.trafficPolicy, port.number));
  const policy = subset === undefined ? ofService : subsetPolicy(ofService, subset.trafficPolicy, port.number);
  if (policy !== undefined)
    applyGrpcPolicy(cluster, policy, {
      identities: () => q.call(serviceIdentities, endpointSource(service)),
      supports: (feature) => q.ask(grpcSupports, feature),
    });
  if (subset === undefined && keepsDrainingEndpoints(q, service))
    cluster.commonLbConfig = create(Cluster_CommonLbConfigSchema, {
      overrideHostStatus: { statuses: sessionStatuses },
    });
  return cluster;
}

function newCluster(name: string, discovery: Discovery): Cluster {
  return create(ClusterSchema, { name, altStatName: delimitedStatPrefix(name), ...discovery });
}

function discoveredByEds(name: string): Discovery {
  return {
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
    edsClusterConfig: { serviceName: name, edsConfig: { configSourceSpecifier: { case: "ads", value: {} } } },
  };
}

/**
 * Returns how endpoints are found: by EDS, or by DNS if the service is one hostname outside of the mesh. Libraries
 * accept a single hostname only, so several have no endpoints.
 */
function discoveryOf(q: QueryContext, name: string, service: Service, port: ServicePort): Discovery {
  const [only, ...others] = isResolvedByProxy(service)
    ? q.call(inlineEndpoints, { ...endpointSource(service), port: { name: port.name, number: port.number } })
    : [];
  const host = only?.addresses[0] ?? "";
  if (only === undefined || others.length > 0 || host === "" || only.port === 0) return discoveredByEds(name);
  const endpoint = { address: address(host, only.port) };
  return {
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.LOGICAL_DNS },
    loadAssignment: {
      clusterName: name,
      endpoints: [
        {
          locality: {},
          loadBalancingWeight: 1,
          lbEndpoints: [{ hostIdentifier: { case: "endpoint", value: endpoint } }],
        },
      ],
    },
  };
}

type Discovery = Pick<
  Extract<MessageInitShape<typeof ClusterSchema>, { $typeName?: never }>,
  "clusterDiscoveryType" | "edsClusterConfig" | "loadAssignment"
>;

/** Statuses of endpoints to which sessions may continue. */
const sessionStatuses = [HealthStatus.HEALTHY, HealthStatus.DRAINING, HealthStatus.UNKNOWN, HealthStatus.DEGRADED];

/** Reports whether sessions continue on endpoints that drain. */
function keepsDrainingEndpoints(q: QueryContext, service: Service): boolean {
  return sessionKeyOf(q, service) !== undefined && q.ask(grpcSupports, "statefulSession");
}
