import { create } from "@bufbuild/protobuf";
import {
  type Cluster,
  Cluster_CommonLbConfigSchema,
  Cluster_DiscoveryType,
  Cluster_LbPolicy,
} from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { PercentSchema } from "@istiod/envoy-api/envoy/type/v3/percent";
import type { QueryContext } from "@istiod/incremental";
import type { LoadBalancerSettings, TrafficPolicy } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { effectiveLocalitySetting, features } from "@istiod/push-context";
import type { Service, ServicePort } from "@istiod/service-discovery";
import { clusterDefaults } from "./cluster-defaults.js";
import type { ClusterDraft } from "./cluster-draft.js";
import { applyConnectionPool } from "./connection-pool.js";
import { applyLoadBalancer } from "./load-balancer.js";
import { applyLocalitySetting } from "./locality-load-balancing.js";
import { applyOutlierDetection } from "./outlier-detection.js";
import { applyProxyProtocol, applyTransportSockets } from "./transport-sockets.js";
import { chooseUpstreamTls, type UpstreamTlsTarget } from "./upstream-tls-settings.js";
import type { UpstreamTlsOptions } from "./upstream-tls-context.js";
import { useHttp2, wantsHttp2Upgrade } from "./upstream-protocol.js";

export interface OutboundTarget {
  readonly service: Service;
  readonly port: ServicePort;
  /** Absent for clusters that pass TLS on unseen. */
  readonly tls?: UpstreamTlsTarget & UpstreamTlsOptions;
}

/** The whole policy, for what is sent. Source: pilot/pkg/networking/core/cluster_traffic_policy.go. */
export function applyOutboundPolicy(q: QueryContext, draft: ClusterDraft, policy: TrafficPolicy | undefined, { service, port, tls }: OutboundTarget): void {
  const { cluster } = draft;
  if (wantsHttp2Upgrade(q, port, policy?.connectionPool)) useHttp2(draft);
  applyConnectionPool(q, draft, policy?.connectionPool, policy?.retryBudget);
  applyOutlierDetection(draft, policy?.outlierDetection, forcesUnhealthyEndpoints(q, service));
  applyBalancing(q, cluster, policy?.loadBalancer, service, port);
  if (tls !== undefined) {
    applyTransportSockets(q, draft, chooseUpstreamTls(q, policy?.tls, tls), tls);
    applyProxyProtocol(q, cluster, policy?.proxyProtocol);
  }
  letClusterChoose(cluster);
}

/** What of a policy shapes connections to the workload itself: the connection pool alone. */
export function applyInboundPolicy(q: QueryContext, draft: ClusterDraft, policy: TrafficPolicy | undefined): void {
  applyConnectionPool(q, draft, policy?.connectionPool, policy?.retryBudget);
  letClusterChoose(draft.cluster);
}

export function commonLbOf(cluster: Cluster): NonNullable<Cluster["commonLbConfig"]> {
  return (cluster.commonLbConfig ??= create(Cluster_CommonLbConfigSchema));
}

export function isDiscoveredBy(cluster: Cluster, type: Cluster_DiscoveryType): boolean {
  return cluster.clusterDiscoveryType.case === "type" && cluster.clusterDiscoveryType.value === type;
}

function applyBalancing(q: QueryContext, cluster: Cluster, settings: LoadBalancerSettings | undefined, service: Service, port: ServicePort): void {
  if (cluster.lbPolicy === Cluster_LbPolicy.CLUSTER_PROVIDED) return;
  const commonLb = commonLbOf(cluster);
  if (commonLb.healthyPanicThreshold === undefined && supportsUnhealthyEndpoints(q, service)) {
    commonLb.healthyPanicThreshold = create(PercentSchema, { value: 0 });
  }
  const locality = effectiveLocalitySetting(q.call(clusterDefaults), settings, service.trafficDistribution);
  applyLocalitySetting(q, commonLb, locality, cluster.outlierDetection !== undefined);
  if (isDiscoveredBy(cluster, Cluster_DiscoveryType.ORIGINAL_DST)) return;
  if (port.protocol === "Redis" && features.redisFilter(q)) {
    cluster.lbPolicy = Cluster_LbPolicy.MAGLEV;
    return;
  }
  applyLoadBalancer(cluster, settings);
}

function letClusterChoose(cluster: Cluster): void {
  if (isDiscoveredBy(cluster, Cluster_DiscoveryType.ORIGINAL_DST)) cluster.lbPolicy = Cluster_LbPolicy.CLUSTER_PROVIDED;
}

/** Whether unhealthy endpoints are sent, so that Envoy must not fall back on them. */
function supportsUnhealthyEndpoints(q: QueryContext, service: Service): boolean {
  return q.call(clusterDefaults).unhealthyEndpoints === "usually" || forcesUnhealthyEndpoints(q, service);
}

function forcesUnhealthyEndpoints(q: QueryContext, service: Service): boolean {
  return q.call(clusterDefaults).unhealthyEndpoints === "always" || service.trafficDistribution !== "Any";
}
