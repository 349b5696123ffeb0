import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  Cluster_CommonLbConfigSchema,
  Cluster_DiscoveryType,
  ClusterSchema,
} from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { HealthStatus } from "@istiod/envoy-api/envoy/config/core/v3/health_check";
import { query, type QueryContext } from "@istiod/incremental";
import {
  destinationRuleFor,
  findSubset,
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
import { delimitedStatPrefix, outboundClusterName, parseClusterName } from "../resource-names.js";
import { sessionKeyOf } from "../routes/route/stateful-session.js";
import { applyGrpcPolicy } from "./cluster-policy.js";

/**
 * The cluster of a port of a service or of one of its subsets, by name, `outbound|80|v1|cart.shop.svc.cluster.local`.
 * Undefined if the client's scope has no such service, port or subset. Source: pilot/pkg/networking/grpcgen/cds.go.
 */
export const grpcCluster = query("grpcCluster", (q, name: string): Resource | undefined => {
  const parsed = parseClusterName(name);
  if (parsed === undefined) return undefined;
  const scoped = q.call(serviceInScope, { scope: scopeOf(q), hostname: parsed.hostname });
  const service = scoped && q.call(scopedService, scoped);
  const port = service && portNumbered(service, parsed.port);
  if (
    service === undefined ||
    port === undefined ||
    name !== outboundClusterName(service.hostname, port.number, parsed.subset)
  )
    return undefined;
  const rule = q.call(destinationRuleFor, { host: service.hostname, serviceNamespace: service.namespace });
  const isSubset = parsed.subset !== "";
  const subset = findSubset(rule?.spec, parsed.subset);
  if (isSubset && subset === undefined) return undefined;
  const cluster = create(ClusterSchema, {
    name,
    altStatName: delimitedStatPrefix(name),
    ...discoveryOf(q, name, service, port),
  });
  const ofService = withMeshDefaults(mesh(q).defaultTrafficPolicy, portPolicy(rule?.spec.trafficPolicy, port.number));
  const policy = subset === undefined ? ofService : subsetPolicy(ofService, subset.trafficPolicy, port.number);
  if (policy !== undefined)
    applyGrpcPolicy(cluster, policy, { identities: () => q.call(serviceIdentities, endpointSource(service)) });
  if (!isSubset && keepsDrainingEndpoints(q, service))
    cluster.commonLbConfig = create(Cluster_CommonLbConfigSchema, {
      overrideHostStatus: { statuses: sessionStatuses },
    });
  return resource(name, toBinary(ClusterSchema, cluster));
});

/**
 * Returns how endpoints are found: by EDS, or by DNS if the service is one hostname outside of the mesh. Libraries
 * accept a single hostname only, so several have no endpoints.
 */
function discoveryOf(q: QueryContext, name: string, service: Service, port: ServicePort): Discovery {
  const [only, ...others] = isResolvedByProxy(service)
    ? q.call(inlineEndpoints, { ...endpointSource(service), port: { name: port.name, number: port.number } })
    : [];
  const host = only?.addresses[0] ?? "";
  if (only === undefined || others.length > 0 || host === "" || only.port === 0)
    return {
      clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
      edsClusterConfig: { serviceName: name, edsConfig: { configSourceSpecifier: { case: "ads", value: {} } } },
    };
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
