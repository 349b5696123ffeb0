import { it } from "vitest";
import { lookups } from "../src/index.js";
import { TestMesh } from "./mesh.js";
import { createRegistry, fromBinary, toJsonString, toJson } from "@bufbuild/protobuf";
import { registry as envoy } from "@istiod/envoy-api/registry";
it("x", () => {
  const mesh = new TestMesh();
  mesh.apply(`
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {clusterIP: 10.96.0.1, selector: {app: cart}, ports: [{name: grpc, port: 80, targetPort: 8080}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: cart-1, namespace: shop, labels: {kubernetes.io/service-name: cart}}
addressType: IPv4
endpoints: [{addresses: [10.1.0.5], conditions: {ready: true}}]
ports: [{name: grpc, port: 8080}]
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: cart, namespace: shop}
spec:
  hosts: [cart]
  http:
  - match: [{uri: {prefix: /a}, headers: {x: {exact: b}}, withoutHeaders: {y: {exact: c}}, authority: {exact: "cart:80"}}]
    route: [{destination: {host: cart, subset: v1}, weight: 10}, {destination: {host: cart, subset: v2}, weight: 90}]
    timeout: 3s
  - match: [{uri: {prefix: /r}}]
    redirect: {uri: /x}
  - route: [{destination: {host: cart}}]
    retries: {attempts: 3, retryOn: unavailable}
    fault: {abort: {grpcStatus: UNAVAILABLE, percentage: {value: 10}}}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: cart, namespace: shop}
spec:
  host: cart
  trafficPolicy: {loadBalancer: {simple: LEAST_REQUEST}, tls: {mode: ISTIO_MUTUAL}, outlierDetection: {consecutive5xxErrors: 3}}
  subsets: [{name: v1, labels: {version: v1}}]
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: deny, namespace: shop}
spec: {action: DENY, rules: [{when: [{key: "request.headers[x]", values: [block]}, {key: "request.auth.claims[a]", values: [b]}]}]}
`);
  const view = mesh.proxy({ metadata: { GENERATOR: "grpc" } }).view;
  const registry = createRegistry(...envoy);
  for (const [type, name] of [["listener.v3.Listener","cart:80"],["listener.v3.Listener","cart"],["listener.v3.Listener","xds.istio.io/grpc/lds/inbound/[::]:8080"],["route.v3.RouteConfiguration","outbound|80||cart.shop.svc.cluster.local"],["cluster.v3.Cluster","outbound|80|v1|cart.shop.svc.cluster.local"],["endpoint.v3.ClusterLoadAssignment","outbound|80||cart.shop.svc.cluster.local"]] as const) {
    const t = `envoy.config.${type}`;
    const r = view.call(lookups[`type.googleapis.com/${t}`]!, name);
    console.log(t, name, r === undefined ? r : JSON.stringify(toJson(registry.getMessage(t)!, fromBinary(registry.getMessage(t)!, r.bytes), { registry }), null, 1));
  }
});
