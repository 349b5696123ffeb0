import { expect, it } from "vitest";
import { messagesIn } from "./messages-in.js";

const pod = (templates: string): string => `
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: shop
  labels: {app: web}
  annotations: {inject.istio.io/templates: "${templates}"}
spec: {containers: [{name: web, image: web}]}
`;
const object = (kind: string, group: string, spec: string): string => `---
apiVersion: ${group}.istio.io/v1
kind: ${kind}
metadata: {name: a, namespace: shop}
spec: ${spec}
`;
const routes = (http: string): string =>
  object("VirtualService", "networking", `{hosts: [cart.shop.svc.cluster.local], http: ${http}}`);
const rule = (policy: string): string =>
  object("DestinationRule", "networking", `{host: cart.shop.svc.cluster.local, trafficPolicy: ${policy}}`);
const anywhere = "route: [{destination: {host: cart.shop.svc.cluster.local}}]";

/** The fields that are reported, with what gRPC does. */
function reported(yaml: string, templates = "grpc-agent"): readonly string[] {
  return messagesIn(pod(templates) + yaml, ["MESH0067"]).map(
    (message) => /gRPC ([^;]*);/.exec(message)?.[1] ?? message,
  );
}

it.each([
  [routes(`[{${anywhere}, rewrite: {uri: /x}}]`), "does not rewrite calls"],
  [routes(`[{${anywhere}, mirrors: [{destination: {host: cart.shop.svc.cluster.local}}]}]`), "does not mirror calls"],
  [routes(`[{${anywhere}, headers: {request: {set: {a: b}}}}]`), "does not change headers"],
  [
    routes(`[{match: [{queryParams: {q: {exact: x}}}], ${anywhere}}]`),
    "has no query parameters, so that no call matches",
  ],
  [
    routes(
      `[{match: [{withoutHeaders: {a: {exact: x}, b: {exact: x}, c: {exact: x}, d: {exact: x}, e: {exact: x}}}], ${anywhere}}]`,
    ),
    "excludes values of at most 4 headers, so that no call matches",
  ],
  [
    routes(`[{match: [{authority: {exact: a.example.com}}], ${anywhere}}]`),
    "compares the authority with its port, as the target has it, so that only targets without a port match",
  ],
  [routes(`[{redirect: {uri: /x}}]`), "does not follow redirects: calls fail with the status"],
  [routes(`[{${anywhere}, retries: {attempts: 1, perTryTimeout: 1s}}]`), "does not limit single attempts"],
  [rule("{loadBalancer: {simple: RANDOM}}"), "has no RANDOM and uses ROUND_ROBIN"],
  [
    rule("{loadBalancer: {simple: LEAST_REQUEST}}"),
    "has no such load balancer in C++ and Python and Node, which use ROUND_ROBIN",
  ],
  [
    rule("{loadBalancer: {consistentHash: {httpHeaderName: a}}}"),
    "has no such load balancer in Node, which uses ROUND_ROBIN",
  ],
  [
    rule("{loadBalancer: {consistentHash: {httpCookie: {name: c, ttl: 0s}}}}"),
    "hashes by headers and useSourceIp only, and calls at random here",
  ],
  [
    rule("{outlierDetection: {consecutive5xxErrors: 3}}"),
    "detects outliers by failurePercentageThreshold only, which is not set",
  ],
  [rule("{connectionPool: {tcp: {maxConnections: 3}}}"), "has no limit of a connection pool but http2MaxRequests"],
  [rule("{tls: {mode: SIMPLE, sni: a.b}}"), "verifies servers by the mesh's root certificates only"],
  [
    object("RequestAuthentication", "security", "{jwtRules: [{issuer: a, jwks: '{\"keys\": []}'}]}"),
    "verifies no tokens: rules that require one allow no call",
  ],
  [object("AuthorizationPolicy", "security", "{action: AUDIT, rules: [{}]}"), "does not audit calls"],
])("%s", (yaml, message) => {
  expect(reported(yaml)).toEqual([message]);
  expect(reported(yaml, "sidecar")).toEqual([]);
});

it.each([
  routes(
    `[{${anywhere}, timeout: 1s, retries: {attempts: 2, retryOn: "unavailable"}, fault: {abort: {httpStatus: 500, percentage: {value: 1}}}}]`,
  ),
  rule("{loadBalancer: {simple: ROUND_ROBIN}, tls: {mode: ISTIO_MUTUAL}}"),
  rule("{outlierDetection: {failurePercentageThreshold: 50}, connectionPool: {http: {http2MaxRequests: 5}}}"),
  object("AuthorizationPolicy", "security", "{action: AUDIT, selector: {matchLabels: {app: other}}, rules: [{}]}"),
])("gRPC applies %s", (yaml) => expect(reported(yaml)).toEqual([]));
