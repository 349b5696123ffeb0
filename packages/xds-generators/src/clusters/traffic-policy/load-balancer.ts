import { create } from "@bufbuild/protobuf";
import {
  type Cluster,
  Cluster_DiscoveryType,
  Cluster_LbPolicy,
  Cluster_LeastRequestLbConfigSchema,
  Cluster_MaglevLbConfigSchema,
  Cluster_RingHashLbConfigSchema,
  Cluster_RoundRobinLbConfigSchema,
  type Cluster_SlowStartConfig,
  Cluster_SlowStartConfigSchema,
} from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { backendUtilizationPolicy } from "./backend-utilization.js";
import {
  type LoadBalancerSettings,
  type LoadBalancerSettings_ConsistentHashLB,
  LoadBalancerSettings_SimpleLB as Simple,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";

/** The minimum ring size of a consistent hash without one. */
const defaultRingSize = 1024n;

/** Applies the load balancing policy, LEAST_REQUEST by default. Source: DestinationRule, `LoadBalancerSettings`. */
export function applyLoadBalancer(cluster: Cluster, settings: LoadBalancerSettings | undefined): void {
  const simple = settings?.lbPolicy.case === "simple" ? settings.lbPolicy.value : Simple.UNSPECIFIED;
  switch (simple) {
    case Simple.RANDOM:
      cluster.lbPolicy = Cluster_LbPolicy.RANDOM;
      break;
    case Simple.ROUND_ROBIN:
      applyRoundRobin(cluster, slowStart(settings));
      break;
    case Simple.PASSTHROUGH:
      cluster.lbPolicy = Cluster_LbPolicy.CLUSTER_PROVIDED;
      cluster.clusterDiscoveryType = { case: "type", value: Cluster_DiscoveryType.ORIGINAL_DST };
      delete cluster.loadAssignment;
      break;
    default:
      applyLeastRequest(cluster, slowStart(settings));
  }
  if (settings?.lbPolicy.case === "consistentHash") applyConsistentHash(cluster, settings.lbPolicy.value);
  if (settings?.lbPolicy.case === "backendUtilization")
    cluster.loadBalancingPolicy = backendUtilizationPolicy(settings.lbPolicy.value);
}

function applyRoundRobin(cluster: Cluster, slowStartConfig: Cluster_SlowStartConfig | undefined): void {
  cluster.lbPolicy = Cluster_LbPolicy.ROUND_ROBIN;
  if (slowStartConfig !== undefined) {
    cluster.lbConfig = {
      case: "roundRobinLbConfig",
      value: create(Cluster_RoundRobinLbConfigSchema, { slowStartConfig }),
    };
  }
}

function applyLeastRequest(cluster: Cluster, slowStartConfig: Cluster_SlowStartConfig | undefined): void {
  cluster.lbPolicy = Cluster_LbPolicy.LEAST_REQUEST;
  if (slowStartConfig !== undefined) {
    cluster.lbConfig = {
      case: "leastRequestLbConfig",
      value: create(Cluster_LeastRequestLbConfigSchema, { slowStartConfig }),
    };
  }
}

/**
 * Returns the slow start configuration: `warmup`, or else the older `warmupDurationSecs`. The default aggression is 1,
 * the default minimum weight 10 %.
 */
function slowStart(settings: LoadBalancerSettings | undefined): Cluster_SlowStartConfig | undefined {
  const { warmup, warmupDurationSecs } = settings ?? {};
  if (warmup !== undefined) {
    return create(Cluster_SlowStartConfigSchema, {
      ...(warmup.duration && { slowStartWindow: warmup.duration }),
      aggression: { defaultValue: warmup.aggression ?? 1, runtimeKey: "(" },
      minWeightPercent: { value: warmup.minimumPercent ?? 10 },
    });
  }
  return warmupDurationSecs && create(Cluster_SlowStartConfigSchema, { slowStartWindow: warmupDurationSecs });
}

function applyConsistentHash(
  cluster: Cluster,
  { hashAlgorithm, minimumRingSize }: LoadBalancerSettings_ConsistentHashLB,
): void {
  if (hashAlgorithm.case === "maglev") {
    cluster.lbPolicy = Cluster_LbPolicy.MAGLEV;
    const { tableSize } = hashAlgorithm.value;
    if (tableSize !== 0n)
      cluster.lbConfig = { case: "maglevLbConfig", value: create(Cluster_MaglevLbConfigSchema, { tableSize }) };
    return;
  }
  cluster.lbPolicy = Cluster_LbPolicy.RING_HASH;
  const size =
    hashAlgorithm.case === "ringHash"
      ? hashAlgorithm.value.minimumRingSize
      : minimumRingSize === 0n
        ? defaultRingSize
        : minimumRingSize;
  if (size !== 0n)
    cluster.lbConfig = {
      case: "ringHashLbConfig",
      value: create(Cluster_RingHashLbConfigSchema, { minimumRingSize: size }),
    };
}
