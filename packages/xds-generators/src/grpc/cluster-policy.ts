import { create } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import { CircuitBreakersSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/circuit_breaker";
import {
  type Cluster,
  Cluster_LbPolicy,
  Cluster_RingHashLbConfigSchema,
  type LoadBalancingPolicy,
  LoadBalancingPolicySchema,
} from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { OutlierDetectionSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/outlier_detection";
import { LeastRequestSchema } from "@istiod/envoy-api/envoy/extensions/load_balancing_policies/least_request/v3/least_request";
import { RoundRobinSchema } from "@istiod/envoy-api/envoy/extensions/load_balancing_policies/round_robin/v3/round_robin";
import { WrrLocalitySchema } from "@istiod/envoy-api/envoy/extensions/load_balancing_policies/wrr_locality/v3/wrr_locality";
import {
  ClientTLSSettings_TLSmode as Mode,
  type ConnectionPoolSettings,
  type LoadBalancerSettings,
  LoadBalancerSettings_SimpleLB as Simple,
  type OutlierDetection,
  type TrafficPolicy,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import type { GrpcFeature } from "@istiod/push-context";
import { backendUtilizationPolicy } from "../clusters/traffic-policy/backend-utilization.js";
import { packAny } from "../envoy/any.js";
import { clientTls } from "./tls-context.js";

interface GrpcPolicyTarget {
  /** Returns the identities of the service. */
  readonly identities: () => readonly string[];
  /** Reports whether the client's library has a feature. */
  readonly supports: (feature: GrpcFeature) => boolean;
}

/** Applies the parts of a traffic policy that gRPC has. Source: pilot/pkg/networking/grpcgen/cds.go. */
export function applyGrpcPolicy(cluster: Cluster, policy: TrafficPolicy, target: GrpcPolicyTarget): void {
  applyTls(cluster, policy, target.identities);
  applyLoadBalancer(cluster, policy.loadBalancer, target);
  applyCircuitBreakers(cluster, policy.connectionPool);
  applyOutlierDetection(cluster, policy.outlierDetection);
}

/**
 * Applies TLS. Without a mode connections are plaintext: whether a server takes the mesh's TLS, and whether the client
 * was given xDS credentials, is not known here. Other certificates than the mesh's cannot be named; a policy that needs
 * them verifies the server by the mesh's roots, so that calls fail rather than leave in plaintext.
 */
function applyTls(cluster: Cluster, { tls }: TrafficPolicy, identities: () => readonly string[]): void {
  if (tls === undefined || tls.mode === Mode.DISABLE) return;
  const names = tls.subjectAltNames.length > 0 || tls.mode !== Mode.ISTIO_MUTUAL ? tls.subjectAltNames : identities();
  cluster.transportSocket = clientTls(names, tls.mode !== Mode.SIMPLE);
}

/** The size of a ring without a declared one. Validation bounds the declared ones as libraries do. */
const defaultRingSize = 1024n;

/**
 * Applies the load balancer; round robin if gRPC has none like it. Where not all libraries have one, they choose the
 * first that they know of a list. Maglev is a ring hash.
 */
function applyLoadBalancer(
  cluster: Cluster,
  settings: LoadBalancerSettings | undefined,
  { supports }: GrpcPolicyTarget,
): void {
  const chosen = settings?.lbPolicy;
  if (chosen?.case === "consistentHash") {
    if (!supports("consistentHash")) return;
    cluster.lbPolicy = Cluster_LbPolicy.RING_HASH;
    const { hashAlgorithm: algorithm, minimumRingSize } = chosen.value;
    const declared = algorithm.case === "ringHash" ? algorithm.value.minimumRingSize : minimumRingSize;
    const size = declared === 0n ? defaultRingSize : declared;
    cluster.lbConfig = {
      case: "ringHashLbConfig",
      value: create(Cluster_RingHashLbConfigSchema, { minimumRingSize: size }),
    };
  } else if (chosen?.case === "backendUtilization") {
    cluster.loadBalancingPolicy = inEachLocality(backendUtilizationPolicy(chosen.value));
  } else if (
    chosen?.case === "simple" &&
    (chosen.value === Simple.LEAST_REQUEST || chosen.value === Simple.LEAST_CONN)
  ) {
    cluster.loadBalancingPolicy = inEachLocality(policyOf(leastRequest, packAny(LeastRequestSchema)));
  }
}

const leastRequest = "envoy.load_balancing_policies.least_request";
const roundRobin = "envoy.load_balancing_policies.round_robin";
const wrrLocality = "envoy.load_balancing_policies.wrr_locality";

/** Returns the policy that chooses localities by their weights, and endpoints in them by the preferred policy. */
function inEachLocality({ policies }: LoadBalancingPolicy): LoadBalancingPolicy {
  const endpointPickingPolicy = create(LoadBalancingPolicySchema, {
    policies: [...policies, ...policyOf(roundRobin, packAny(RoundRobinSchema)).policies],
  });
  return policyOf(wrrLocality, packAny(WrrLocalitySchema, { endpointPickingPolicy }));
}

function policyOf(name: string, typedConfig: Any): LoadBalancingPolicy {
  return create(LoadBalancingPolicySchema, { policies: [{ typedExtensionConfig: { name, typedConfig } }] });
}

/** Applies the limit of concurrent calls, the only one that gRPC has (gRFC A32). */
function applyCircuitBreakers(cluster: Cluster, pool: ConnectionPoolSettings | undefined): void {
  const maxRequests = pool?.http?.http2MaxRequests ?? 0;
  if (maxRequests > 0) cluster.circuitBreakers = create(CircuitBreakersSchema, { thresholds: [{ maxRequests }] });
}

/**
 * Applies outlier detection by the share of failed calls. gRPC counts no consecutive errors, and a call with any status
 * other than OK has failed (gRFC A50).
 */
function applyOutlierDetection(cluster: Cluster, settings: OutlierDetection | undefined): void {
  const {
    failurePercentageThreshold: threshold = 0,
    interval,
    baseEjectionTime,
    maxEjectionPercent = 0,
  } = settings ?? {};
  if (threshold === 0) return;
  cluster.outlierDetection = create(OutlierDetectionSchema, {
    enforcingSuccessRate: 0,
    failurePercentageThreshold: threshold,
    enforcingFailurePercentage: 100,
    ...(interval && { interval }),
    ...(baseEjectionTime && { baseEjectionTime }),
    ...(maxEjectionPercent > 0 && { maxEjectionPercent }),
  });
}
