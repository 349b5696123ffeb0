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
import type { Protocol, Service } from "@istiod/service-discovery";
import { clusterDefaults } from "../cluster-defaults.js";
import type { ClusterDraft } from "../cluster-draft.js";
import { applyConnectionPool } from "./connection-pool.js";
import { applyLoadBalancer } from "./load-balancer.js";
import { applyLocalitySetting } from "./locality-load-balancing.js";
import { applyOutlierDetection } from "./outlier-detection.js";
import { applyProxyProtocol, applyTransportSockets } from "./transport-sockets.js";
import { upgradesToHttp2, useHttp2 } from "./upstream-protocol.js";
import type { UpstreamTlsOptions } from "./upstream-tls-context.js";
import { chooseUpstreamTls, type UpstreamTlsTarget } from "./upstream-tls-settings.js";

export interface PolicyTarget {
  readonly protocol: Protocol;
  readonly trafficDistribution: Service["trafficDistribution"];
  /** Absent for clusters that forward TLS without terminating it. */
  readonly tls?: UpstreamTlsTarget & UpstreamTlsOptions;
}

/** Applies a traffic policy to an outbound cluster. Source: pilot/pkg/networking/core/cluster_traffic_policy.go. */
export function applyOutboundPolicy(
  q: QueryContext,
  draft: ClusterDraft,
  policy: TrafficPolicy | undefined,
  target: PolicyTarget,
): void {
  const { cluster } = draft;
  const { tls } = target;
  if (upgradesToHttp2(q, target.protocol, policy?.connectionPool)) useHttp2(draft);
  applyConnectionPool(q, draft, policy?.connectionPool, policy?.retryBudget);
  applyOutlierDetection(draft, policy?.outlierDetection, forcesUnhealthyEndpoints(q, target));
  applyLoadBalancing(q, cluster, policy?.loadBalancer, target);
  if (tls !== undefined) {
    applyTransportSockets(q, draft, chooseUpstreamTls(q, policy?.tls, tls), tls);
    applyProxyProtocol(q, cluster, policy?.proxyProtocol);
  }
  useClusterProvidedLb(cluster);
}

/** Applies the connection pool of a traffic policy to an inbound cluster; nothing else applies there. */
export function applyInboundPolicy(q: QueryContext, draft: ClusterDraft, policy: TrafficPolicy | undefined): void {
  applyConnectionPool(q, draft, policy?.connectionPool, policy?.retryBudget);
  useClusterProvidedLb(draft.cluster);
}

export function commonLbConfigOf(cluster: Cluster): NonNullable<Cluster["commonLbConfig"]> {
  return (cluster.commonLbConfig ??= create(Cluster_CommonLbConfigSchema));
}

export function hasDiscoveryType(cluster: Cluster, type: Cluster_DiscoveryType): boolean {
  return cluster.clusterDiscoveryType.case === "type" && cluster.clusterDiscoveryType.value === type;
}

function applyLoadBalancing(
  q: QueryContext,
  cluster: Cluster,
  settings: LoadBalancerSettings | undefined,
  target: PolicyTarget,
): void {
  if (cluster.lbPolicy === Cluster_LbPolicy.CLUSTER_PROVIDED) return;
  const commonLb = commonLbConfigOf(cluster);
  if (commonLb.healthyPanicThreshold === undefined && supportsUnhealthyEndpoints(q, target)) {
    commonLb.healthyPanicThreshold = create(PercentSchema, { value: 0 });
  }
  const locality = effectiveLocalitySetting(q.call(clusterDefaults), settings, target.trafficDistribution);
  applyLocalitySetting(q, commonLb, locality, cluster.outlierDetection !== undefined);
  if (hasDiscoveryType(cluster, Cluster_DiscoveryType.ORIGINAL_DST)) return;
  if (target.protocol === "Redis" && features.redisFilter(q)) {
    cluster.lbPolicy = Cluster_LbPolicy.MAGLEV;
    return;
  }
  applyLoadBalancer(cluster, settings);
}

function useClusterProvidedLb(cluster: Cluster): void {
  if (hasDiscoveryType(cluster, Cluster_DiscoveryType.ORIGINAL_DST))
    cluster.lbPolicy = Cluster_LbPolicy.CLUSTER_PROVIDED;
}

/** Reports whether unhealthy endpoints are sent, so that Envoy must not panic. */
function supportsUnhealthyEndpoints(q: QueryContext, target: PolicyTarget): boolean {
  return q.call(clusterDefaults).unhealthyEndpoints === "usually" || forcesUnhealthyEndpoints(q, target);
}

function forcesUnhealthyEndpoints(q: QueryContext, { trafficDistribution }: PolicyTarget): boolean {
  return q.call(clusterDefaults).unhealthyEndpoints === "always" || trafficDistribution !== "Any";
}
