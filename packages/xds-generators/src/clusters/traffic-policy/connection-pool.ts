import { create } from "@bufbuild/protobuf";
import {
  type CircuitBreakers_Thresholds,
  CircuitBreakers_Thresholds_RetryBudgetSchema,
  CircuitBreakers_ThresholdsSchema,
  CircuitBreakersSchema,
} from "@istiod/envoy-api/envoy/config/cluster/v3/circuit_breaker";
import { type Cluster, UpstreamConnectionOptionsSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { type TcpKeepalive, TcpKeepaliveSchema } from "@istiod/envoy-api/envoy/config/core/v3/address";
import { HttpProtocolOptionsSchema, KeepaliveSettingsSchema } from "@istiod/envoy-api/envoy/config/core/v3/protocol";
import type { QueryContext } from "@istiod/incremental";
import type {
  ConnectionPoolSettings,
  ConnectionPoolSettings_HTTPSettings,
  ConnectionPoolSettings_TCPSettings,
  ConnectionPoolSettings_TCPSettings_TcpKeepalive,
  TrafficPolicy_RetryBudget,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { clusterDefaults } from "../cluster-defaults.js";
import { type ClusterDraft, httpOptions } from "../cluster-draft.js";
import { useDownstreamProtocol } from "./upstream-protocol.js";

/** Envoy's default limits are too low for bursts; Istio sets none unless a policy does. */
const unlimited = 0xffffffff;

/**
 * Applies connection limits, timeouts, keepalive and the retry budget. Source: DestinationRule,
 * `ConnectionPoolSettings`.
 */
export function applyConnectionPool(
  q: QueryContext,
  draft: ClusterDraft,
  pool?: ConnectionPoolSettings,
  retryBudget?: TrafficPolicy_RetryBudget,
): void {
  const { cluster } = draft;
  const defaults = q.call(clusterDefaults);
  const connectTimeout = pool?.tcp?.connectTimeout ?? defaults.connectTimeout;
  if (connectTimeout !== undefined) cluster.connectTimeout = connectTimeout;
  applyTcpKeepalive(cluster, defaults.tcpKeepalive);
  applyTcpKeepalive(cluster, pool?.tcp?.tcpKeepalive);
  const limits = thresholds(q, pool?.http, pool?.tcp);
  if (retryBudget !== undefined) {
    limits.retryBudget = create(CircuitBreakers_Thresholds_RetryBudgetSchema, {
      budgetPercent: { value: retryBudget.percent ?? 20 },
      minRetryConcurrency: retryBudget.minRetryConcurrency > 0 ? retryBudget.minRetryConcurrency : 3,
      ...(retryBudget.budgetInterval && { budgetInterval: retryBudget.budgetInterval }),
    });
  }
  cluster.circuitBreakers = create(CircuitBreakersSchema, { thresholds: [limits] });
  applyHttpSettings(draft, pool);
  if (pool?.http?.useClientProtocol === true) useDownstreamProtocol(draft);
}

/** Returns thresholds without limits. */
export function defaultThresholds(q: QueryContext): CircuitBreakers_Thresholds {
  return thresholds(q, undefined, undefined);
}

function thresholds(
  q: QueryContext,
  http: ConnectionPoolSettings_HTTPSettings | undefined,
  tcp: ConnectionPoolSettings_TCPSettings | undefined,
): CircuitBreakers_Thresholds {
  return create(CircuitBreakers_ThresholdsSchema, {
    maxRetries: positive(http?.maxRetries) ?? unlimited,
    maxRequests: positive(http?.http2MaxRequests) ?? unlimited,
    maxConnections: positive(tcp?.maxConnections) ?? unlimited,
    maxPendingRequests: positive(http?.http1MaxPendingRequests) ?? unlimited,
    trackRemaining: q.call(clusterDefaults).trackRemaining,
  });
}

function applyHttpSettings(draft: ClusterDraft, pool: ConnectionPoolSettings | undefined): void {
  const { http, tcp } = pool ?? {};
  const idleTimeout = http?.idleTimeout ?? tcp?.idleTimeout;
  const maxConnectionDuration = tcp?.maxConnectionDuration;
  const maxRequestsPerConnection = positive(http?.maxRequestsPerConnection);
  const maxConcurrentStreams = positive(http?.maxConcurrentStreams);
  const keepalive = http?.http2KeepAlive;
  if (
    [idleTimeout, maxConnectionDuration, maxRequestsPerConnection, maxConcurrentStreams, keepalive].every(
      (value) => value === undefined,
    )
  )
    return;
  const options = httpOptions(draft);
  const common = (options.commonHttpProtocolOptions ??= create(HttpProtocolOptionsSchema));
  if (idleTimeout !== undefined) common.idleTimeout = idleTimeout;
  if (maxRequestsPerConnection !== undefined) common.maxRequestsPerConnection = maxRequestsPerConnection;
  if (maxConnectionDuration !== undefined) common.maxConnectionDuration = maxConnectionDuration;
  const explicit =
    options.upstreamProtocolOptions.case === "explicitHttpConfig"
      ? options.upstreamProtocolOptions.value.protocolConfig
      : undefined;
  if (explicit?.case !== "http2ProtocolOptions") return;
  if (maxConcurrentStreams !== undefined) explicit.value.maxConcurrentStreams = maxConcurrentStreams;
  if (keepalive !== undefined) {
    const { interval, timeout } = keepalive;
    explicit.value.connectionKeepalive = create(KeepaliveSettingsSchema, {
      ...(interval && { interval }),
      ...(timeout && { timeout }),
    });
  }
}

/** Applies TCP keepalive. Unset fields keep earlier values, or those of the operating system. */
function applyTcpKeepalive(
  cluster: Cluster,
  settings: ConnectionPoolSettings_TCPSettings_TcpKeepalive | undefined,
): void {
  if (settings === undefined) return;
  const options = (cluster.upstreamConnectionOptions ??= create(UpstreamConnectionOptionsSchema, { tcpKeepalive: {} }));
  const keepalive: TcpKeepalive = (options.tcpKeepalive ??= create(TcpKeepaliveSchema));
  if (settings.probes > 0) keepalive.keepaliveProbes = settings.probes;
  if (settings.time !== undefined) keepalive.keepaliveTime = Number(settings.time.seconds);
  if (settings.interval !== undefined) keepalive.keepaliveInterval = Number(settings.interval.seconds);
}

function positive(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 ? value : undefined;
}
