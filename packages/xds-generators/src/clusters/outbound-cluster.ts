import { create, toBinary } from "@bufbuild/protobuf";
import {
  type Cluster,
  Cluster_DiscoveryType,
  Cluster_EdsClusterConfigSchema,
  Cluster_OriginalDstLbConfigSchema,
  ClusterSchema,
} from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { ApiVersion } from "@istiod/envoy-api/envoy/config/core/v3/config_source";
import { HealthStatus, HealthStatusSetSchema } from "@istiod/envoy-api/envoy/config/core/v3/health_check";
import { query, type QueryContext } from "@istiod/incremental";
import { LoadBalancerSettings_SimpleLB, type TrafficPolicy } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import {
  type ConsolidatedRule,
  destinationRuleFor,
  policyOfPort,
  policyOfSubset,
  scopedService,
  type ScopedService,
  serviceMutualTlsMode,
  subsetNamed,
  withMeshDefaults,
} from "@istiod/push-context";
import { resource, type Resource } from "@istiod/resources";
import { type Service, serviceIdentities, type ServicePort } from "@istiod/service-discovery";
import { delimitedStatPrefix, outboundClusterName, sniDnatClusterName } from "../resource-names.js";
import { clusterDefaults } from "./cluster-defaults.js";
import { type ClusterDraft, clusterDraft, finished } from "./cluster-draft.js";
import {
  addBaggageDiscovery,
  addMetadata,
  addMetadataExchange,
  addRuleMetadata,
  addServicesMetadata,
} from "./cluster-metadata.js";
import { discoveryTypeOf } from "./discovery-type.js";
import { dnsSettings } from "./dns-lookup.js";
import { inlineEndpointsOf } from "./inline-endpoints.js";
import { statNameOf } from "./stat-pattern.js";
import { applyOutboundPolicy, commonLbOf, isDiscoveredBy, type OutboundTarget } from "./traffic-policy.js";
import { applyDeclaredProtocol } from "./upstream-protocol.js";

/** One port of a service, or of a subset of it, as a client's scope imports it. */
export interface OutboundClusterRef {
  readonly service: ScopedService;
  /** The port's number. */
  readonly port: number;
  /** Empty: the service itself. */
  readonly subset: string;
  /** A cluster of AUTO_PASSTHROUGH gateways, which pass the client's TLS on as it is. */
  readonly sniDnat: boolean;
}

/**
 * The cluster by which the client reaches a port of a service. Undefined where the service has no such port or subset, or the proxy
 * would have to resolve names and there are none.
 */
export const outboundCluster = query("outboundCluster", (q, ref: OutboundClusterRef): Resource | undefined => {
  const cluster = buildOutboundCluster(q, ref);
  return cluster && resource(cluster.name, toBinary(ClusterSchema, cluster));
});

function buildOutboundCluster(q: QueryContext, ref: OutboundClusterRef): Cluster | undefined {
  const service = q.call(scopedService, ref.service);
  const port = service?.ports.find(({ number }) => number === ref.port);
  if (service === undefined || port === undefined) return undefined;
  const rule = q.call(destinationRuleFor, { host: service.hostname, serviceNamespace: service.namespace });
  return ref.subset === "" ? serviceCluster(q, ref, service, port, rule) : subsetCluster(q, ref, service, port, rule);
}

function serviceCluster(q: QueryContext, ref: OutboundClusterRef, service: Service, port: ServicePort, rule: ConsolidatedRule | undefined): Cluster | undefined {
  const policy = policyOfDestination(q, rule, port);
  const draft = newCluster(q, ref, service, port, discoveryTypeOf(q, service), policy);
  if (draft === undefined) return undefined;
  const { cluster } = draft;
  if (!ref.sniDnat && supportsDraining(q, service)) keepDraining(cluster);
  applyOutboundPolicy(q, draft, policy, targetOf(q, ref, service, port, rule, passesThrough(rule?.spec.trafficPolicy)));
  addSharedParts(q, cluster);
  if (service.meshExternal) addMetadata(cluster, { external: true });
  if (rule !== undefined) addRuleMetadata(cluster, rule, policy?.tls);
  return finished(draft);
}

function subsetCluster(q: QueryContext, ref: OutboundClusterRef, service: Service, port: ServicePort, rule: ConsolidatedRule | undefined): Cluster | undefined {
  const subset = subsetNamed(rule?.spec, ref.subset);
  if (rule === undefined || subset === undefined) return undefined;
  // The subset takes after the service's cluster, whose policy may have made it one for original destinations.
  const destinationPolicy = policyOfDestination(q, rule, port);
  const ownPassthrough = passesThrough(subset.trafficPolicy);
  const type = ownPassthrough || passesThrough(destinationPolicy) ? Cluster_DiscoveryType.ORIGINAL_DST : discoveryTypeOf(q, service);
  const policy = policyOfSubset(destinationPolicy, subset.trafficPolicy, port.number);
  if (q.call(outboundCluster, { ...ref, subset: "" }) === undefined) return undefined;
  const draft = newCluster(q, ref, service, port, type, policy);
  if (draft === undefined) return undefined;
  applyOutboundPolicy(q, draft, policy, targetOf(q, ref, service, port, rule, ownPassthrough));
  const { cluster } = draft;
  addSharedParts(q, cluster);
  addRuleMetadata(cluster, rule, policy?.tls);
  addMetadata(cluster, { subset: subset.name });
  return finished(draft);
}

/** A cluster with what does not depend on a policy; undefined where its endpoints are names and there are none. */
function newCluster(
  q: QueryContext,
  { subset, sniDnat }: OutboundClusterRef,
  service: Service,
  port: ServicePort,
  type: Cluster_DiscoveryType,
  policy: TrafficPolicy | undefined,
): ClusterDraft | undefined {
  const name = (sniDnat ? sniDnatClusterName : outboundClusterName)(service.hostname, port.number, subset);
  const resolves = type === Cluster_DiscoveryType.STRICT_DNS || type === Cluster_DiscoveryType.LOGICAL_DNS;
  const endpoints = resolves ? inlineEndpointsOf(q, { service, port, subset, sniDnat }, policy) : [];
  if (resolves && endpoints.length === 0) return undefined;
  const draft = clusterDraft({
    name,
    clusterDiscoveryType: { case: "type", value: type },
    commonLbConfig: {},
    ...(resolves && { ...dnsSettings(q, service.raceFirstTcpConnect), loadAssignment: { clusterName: name, endpoints: [...endpoints] } }),
  });
  const { cluster } = draft;
  const passthroughPort = service.passthroughTargetPorts[port.number];
  if (type === Cluster_DiscoveryType.ORIGINAL_DST && passthroughPort !== undefined) {
    cluster.lbConfig = { case: "originalDstLbConfig", value: create(Cluster_OriginalDstLbConfigSchema, { upstreamPortOverride: passthroughPort }) };
  }
  applyDeclaredProtocol(q, draft, port);
  addServicesMetadata(q, cluster, [service]);
  const pattern = q.call(clusterDefaults).outboundStatName;
  if (pattern !== "") cluster.altStatName = delimitedStatPrefix(statNameOf(pattern, { service, port, subset }));
  return draft;
}

function targetOf(q: QueryContext, ref: OutboundClusterRef, service: Service, port: ServicePort, rule: ConsolidatedRule | undefined, passthrough: boolean): OutboundTarget {
  if (ref.sniDnat) return { service, port };
  const identities = q.call(serviceIdentities, service.key);
  return {
    service,
    port,
    tls: {
      identities,
      externalIdentities: service.registry === "External" ? identities : [],
      sni: sniDnatClusterName(service.hostname, port.number, ref.subset),
      meshExternal: service.meshExternal,
      serviceMode: serviceMutualTlsMode(q, service, port, passthrough),
      selectsWorkloads: rule?.spec.workloadSelector !== undefined,
    },
  };
}

/** What every cluster has once its policy decided how its endpoints are found. */
function addSharedParts(q: QueryContext, cluster: Cluster): void {
  const eds = isDiscoveredBy(cluster, Cluster_DiscoveryType.EDS);
  if (eds) {
    cluster.edsClusterConfig = create(Cluster_EdsClusterConfigSchema, {
      serviceName: cluster.name,
      edsConfig: { configSourceSpecifier: { case: "ads", value: {} }, initialFetchTimeout: {}, resourceApiVersion: ApiVersion.V3 },
    });
  }
  addMetadataExchange(q, cluster);
  if (eds) addBaggageDiscovery(q, cluster);
}

function policyOfDestination(q: QueryContext, rule: ConsolidatedRule | undefined, port: ServicePort): TrafficPolicy | undefined {
  return withMeshDefaults(q.call(clusterDefaults).policy, policyOfPort(rule?.spec.trafficPolicy, port.number));
}

function passesThrough(policy: TrafficPolicy | undefined): boolean {
  const chosen = policy?.loadBalancer?.lbPolicy;
  return chosen?.case === "simple" && chosen.value === LoadBalancerSettings_SimpleLB.PASSTHROUGH;
}

function supportsDraining(q: QueryContext, { labels }: Service): boolean {
  return q.call(clusterDefaults).sessionLabels.some((name) => (labels[name] ?? "") !== "");
}

/** Keeps endpoints that drain, for the sessions that are bound to them. */
function keepDraining(cluster: Cluster): void {
  commonLbOf(cluster).overrideHostStatus = create(HealthStatusSetSchema, {
    statuses: [HealthStatus.HEALTHY, HealthStatus.DRAINING, HealthStatus.UNKNOWN, HealthStatus.DEGRADED],
  });
}
