import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { MySQLProxySchema } from "@istiod/envoy-api/contrib/envoy/extensions/filters/network/mysql_proxy/v3/mysql_proxy";
import { MongoProxySchema } from "@istiod/envoy-api/envoy/extensions/filters/network/mongo_proxy/v3/mongo_proxy";
import { RedisProxySchema } from "@istiod/envoy-api/envoy/extensions/filters/network/redis_proxy/v3/redis_proxy";
import { FilterConfigSchema as SniForwardProxySchema } from "@istiod/envoy-api/envoy/extensions/filters/network/sni_dynamic_forward_proxy/v3/sni_dynamic_forward_proxy";
import {
  type TcpProxy,
  TcpProxySchema,
} from "@istiod/envoy-api/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy";
import type { QueryContext } from "@istiod/incremental";
import {
  destinationRuleFor,
  features,
  findSubset,
  hasExtension,
  type ListenerClass,
  type PolicyTarget,
} from "@istiod/push-context";
import type { Protocol } from "@istiod/service-discovery";
import { packAny } from "../../envoy/any.js";
import { duration } from "../../envoy/duration.js";
import { type Filter, networkFilter } from "../../envoy/filters.js";
import { clusterHash } from "../../routes/route/destinations.js";
import type { PeerIdentitySource } from "../../security/authorization/principal.js";
import { connectionLogs } from "../../telemetry/connection-logs.js";
import { nodeIdleTimeout } from "../connection-limits.js";
import type { TcpProxyPlan } from "./tcp-proxy-plan.js";

export const tcpProxyName = "envoy.filters.network.tcp_proxy";
const mysqlProxyName = "envoy.filters.network.mysql_proxy";

/** Returns a proxy to one cluster. The idle timeout is the node's, if it has one. */
export function simpleTcpProxy(
  q: QueryContext,
  listener: ListenerClass,
  cluster: string,
  { statPrefix = cluster, identity }: { readonly statPrefix?: string; readonly identity?: PeerIdentitySource } = {},
): TcpProxy {
  const idleTimeout = nodeIdleTimeout(q);
  return create(TcpProxySchema, {
    statPrefix,
    clusterSpecifier: { case: "cluster", value: cluster },
    ...(idleTimeout && { idleTimeout }),
    ...connectionLogs(q, listener, identity),
  });
}

/**
 * Returns the proxy for a plan, with the settings of the destination's DestinationRule. Source:
 * pilot/pkg/networking/core/networkfilter.go.
 */
export function tcpProxyFromPlan(q: QueryContext, listener: ListenerClass, plan: TcpProxyPlan): TcpProxy {
  const rule = plan.rule && q.call(destinationRuleFor, plan.rule)?.spec;
  const tcp = rule?.trafficPolicy?.connectionPool?.tcp;
  const idleTimeout = tcp?.idleTimeout ?? nodeIdleTimeout(q);
  const [only] = plan.clusters;
  const proxy = create(TcpProxySchema, {
    statPrefix: plan.statPrefix,
    clusterSpecifier:
      only !== undefined && only.weight === 0
        ? { case: "cluster", value: only.name }
        : {
            case: "weightedClusters",
            value: { clusters: plan.clusters.map(({ name, weight }) => ({ name, weight })) },
          },
    ...(idleTimeout && { idleTimeout }),
    ...(tcp?.maxConnectionDuration && { maxDownstreamConnectionDuration: tcp.maxConnectionDuration }),
    ...connectionLogs(q, listener),
  });
  if (plan.hashTargets.some((target) => hashesSourceIp(q, target))) proxy.hashPolicy = [sourceIpHashPolicy];
  if (rule === undefined) return proxy;
  const tunnel = plan.subset === "" ? rule.trafficPolicy?.tunnel : findSubset(rule, plan.subset)?.trafficPolicy?.tunnel;
  if (plan.tunnels && tunnel !== undefined) {
    const host = tunnel.targetHost.includes(":") ? `[${tunnel.targetHost}]` : tunnel.targetHost;
    proxy.tunnelingConfig = create(TcpProxySchema, {
      tunnelingConfig: { hostname: `${host}:${tunnel.targetPort}`, usePost: tunnel.protocol === "POST" },
    }).tunnelingConfig;
  }
  return proxy;
}

const [sourceIpHashPolicy] = create(TcpProxySchema, {
  hashPolicy: [{ policySpecifier: { case: "sourceIp", value: {} } }],
}).hashPolicy as [TcpProxy["hashPolicy"][number]];

/** Reports whether a cluster balances connections by source IP. */
function hashesSourceIp(q: QueryContext, target: PolicyTarget): boolean {
  const key = clusterHash(q, target)?.hashKey;
  return key?.case === "useSourceIp" && key.value;
}

/**
 * Returns the last filters of a chain: the TCP proxy after the filter of its protocol. The Redis filter replaces the
 * TCP proxy.
 */
export function terminalFilters(q: QueryContext, proxy: TcpProxy, protocol: Protocol): readonly Filter[] {
  const tcp = networkFilter(tcpProxyName, anyPack(TcpProxySchema, proxy));
  const { statPrefix } = proxy;
  if (protocol === "Mongo" && features.mongoFilter(q)) {
    return [networkFilter("envoy.filters.network.mongo_proxy", packAny(MongoProxySchema, { statPrefix })), tcp];
  }
  if (protocol === "Redis" && features.redisFilter(q)) return [redisFilter(proxy)];
  // A contrib extension, which stock builds lack.
  if (protocol === "MySQL" && features.mysqlFilter(q) && q.ask(hasExtension, mysqlProxyName)) {
    return [networkFilter(mysqlProxyName, packAny(MySQLProxySchema, { statPrefix })), tcp];
  }
  return [tcp];
}

function redisFilter({ statPrefix, clusterSpecifier }: TcpProxy): Filter {
  const cluster =
    clusterSpecifier.case === "weightedClusters"
      ? (clusterSpecifier.value.clusters[0]?.name ?? "")
      : (clusterSpecifier.value ?? "");
  return networkFilter(
    "envoy.filters.network.redis_proxy",
    packAny(RedisProxySchema, {
      statPrefix,
      latencyInMicros: true,
      settings: { opTimeout: duration(5000) },
      prefixRoutes: { catchAllRoute: { cluster } },
    }),
  );
}

/** Resolves the SNI host, with a DNS cache that the cluster shares by name. */
export function sniDynamicForwardProxy(
  port: number,
  cache: { readonly name: string; readonly dnsLookupFamily: number },
): Filter {
  return networkFilter(
    "envoy.extensions.filters.network.sni_dynamic_forward_proxy",
    packAny(SniForwardProxySchema, { dnsCacheConfig: cache, portSpecifier: { case: "portValue", value: port } }),
  );
}
