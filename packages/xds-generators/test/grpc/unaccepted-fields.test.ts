import { describe, expect, it } from "vitest";
import type { Json } from "../mesh.js";
import { cart, cartRoutes, grpcClient, meshOf, routes, rule, userAgents } from "./grpc-client.js";

/**
 * The fields that libraries accept, by their paths below a resource: those that they read, and names and descriptions
 * that they skip. Others were seen to be rejected, or to end a process. `*` stands for any key or index.
 */
const accepted = {
  rds: [
    "name",
    "virtualHosts.*.name",
    "virtualHosts.*.domains.*",
    "virtualHosts.*.includeRequestAttemptCount",
    "virtualHosts.*.routes.*.name",
    "virtualHosts.*.routes.*.metadata",
    "virtualHosts.*.routes.*.decorator",
    "virtualHosts.*.routes.*.match.prefix",
    "virtualHosts.*.routes.*.match.path",
    "virtualHosts.*.routes.*.match.safeRegex",
    "virtualHosts.*.routes.*.match.caseSensitive",
    "virtualHosts.*.routes.*.match.headers.*.name",
    "virtualHosts.*.routes.*.match.headers.*.presentMatch",
    "virtualHosts.*.routes.*.match.headers.*.stringMatch",
    "virtualHosts.*.routes.*.match.headers.*.invertMatch",
    "virtualHosts.*.routes.*.route.cluster",
    "virtualHosts.*.routes.*.route.weightedClusters.clusters.*.name",
    "virtualHosts.*.routes.*.route.weightedClusters.clusters.*.weight",
    "virtualHosts.*.routes.*.route.timeout",
    "virtualHosts.*.routes.*.route.maxStreamDuration.maxStreamDuration",
    "virtualHosts.*.routes.*.route.retryPolicy",
    "virtualHosts.*.routes.*.route.hashPolicy.*.header",
    "virtualHosts.*.routes.*.route.hashPolicy.*.filterState",
    "virtualHosts.*.routes.*.typedPerFilterConfig.envoy·filters·http·fault",
  ],
  cds: [
    "name",
    "altStatName",
    "type",
    "edsClusterConfig.serviceName",
    "edsClusterConfig.edsConfig.ads",
    "lbPolicy",
    "ringHashLbConfig.minimumRingSize",
    "loadBalancingPolicy",
    "circuitBreakers.thresholds.*.maxRequests",
    "outlierDetection",
    "transportSocket",
  ],
} as const;

/** Returns the paths in a value that none of the accepted ones covers. */
function unaccepted(value: Json, paths: readonly string[], at: readonly string[] = []): readonly string[] {
  const path = at.join(".");
  if (paths.includes(path)) return [];
  if (typeof value !== "object" || value === null) return [path];
  return Object.entries(value as object).flatMap(([key, inner]) =>
    unaccepted(inner as Json, paths, [
      ...at,
      Array.isArray(value) || /^\d+$/.test(key) ? "*" : key.replaceAll(".", "·"),
    ]),
  );
}

const destination = "route: [{destination: {host: cart}, headers: {request: {add: {a: b}}, response: {remove: [c]}}}]";
const everyRoute = `[
  {match: [{uri: {prefix: /a}, queryParams: {q: {exact: x}}}], ${destination}},
  {match: [{uri: {regex: "/b/.*"}, ignoreUriCase: true, headers: {h: {regex: "a|b"}}, withoutHeaders: {w: {prefix: x}},
    authority: {prefix: cart}, method: {exact: POST}, scheme: {exact: http}}],
   ${destination}, rewrite: {uriRegexRewrite: {match: a, rewrite: b}, authority: x}, mirrors: [{destination: {host: cart}}],
   headers: {request: {set: {a: b}}}, corsPolicy: {allowOrigins: [{exact: a}]}, timeout: 3s,
   retries: {attempts: 2, retryOn: "5xx,unavailable,503", perTryTimeout: 1s, retryRemoteLocalities: true, backoff: 1s}},
  {match: [{uri: {prefix: /c}}], directResponse: {status: 500, body: {string: x}}},
  {match: [{uri: {prefix: /d}}], redirect: {uri: /x, authority: other, redirectCode: 308}},
  {match: [{uri: {exact: /e}}], fault: {delay: {fixedDelay: 1s, percentage: {value: 1}}, abort: {httpStatus: 500, percentage: {value: 1}}}, ${destination}},
  {route: [{destination: {host: cart, subset: v1}, weight: 1}, {destination: {host: cart, subset: v1}, weight: 2}, {destination: {host: cart, subset: v2}, weight: 0}]}]`;

const everyPolicy = `{loadBalancer: {LB, warmup: {duration: 10s}, localityLbSetting: {failover: [{from: a, to: b}]}},
  connectionPool: {tcp: {maxConnections: 1, connectTimeout: 1s, tcpKeepalive: {time: 1s}}, http: {http2MaxRequests: 3, maxRetries: 4, idleTimeout: 1s, useClientProtocol: true}},
  outlierDetection: {consecutive5xxErrors: 1, consecutiveGatewayErrors: 2, splitExternalLocalOriginErrors: true, consecutiveLocalOriginFailures: 3, failurePercentageThreshold: 50, minHealthPercent: 20},
  tls: {mode: TLS, sni: a.b}, proxyProtocol: {version: V1}}`;

describe.each(Object.keys(userAgents) as (keyof typeof userAgents)[])(
  "%s is sent accepted fields only",
  (userAgent) => {
    it("in routes", () => {
      const found = grpcClient(meshOf(cart, rule(), routes(everyRoute)), { userAgent }).get("rds", cartRoutes);
      expect(unaccepted(found, accepted.rds)).toEqual([]);
      const weighted = found.virtualHosts[0].routes.at(-1).route.weightedClusters.clusters;
      expect(weighted).toEqual([{ name: "outbound|80|v1|cart.shop.svc.cluster.local", weight: 3 }]);
    });

    it.each([
      "simple: ROUND_ROBIN",
      "simple: LEAST_REQUEST",
      "simple: RANDOM",
      "simple: PASSTHROUGH",
      "consistentHash: {httpCookie: {name: a, ttl: 1s}}",
      "consistentHash: {httpHeaderName: a, maglev: {tableSize: 65537}}",
    ])("in a cluster with %s", (balancer) => {
      for (const mode of ["ISTIO_MUTUAL", "SIMPLE", "DISABLE"]) {
        const policy = everyPolicy.replace("LB", balancer).replace("TLS", mode).replaceAll("\n", " ");
        const found = grpcClient(meshOf(cart, rule(policy)), { userAgent }).get("cds", cartRoutes);
        expect(unaccepted(found, accepted.cds)).toEqual([]);
        expect(["RING_HASH", undefined]).toContain(found.lbPolicy);
      }
    });
  },
);
