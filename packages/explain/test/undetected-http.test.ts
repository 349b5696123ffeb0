import { proxyFromNode } from "@istiod/push-context";
import { expect, it } from "vitest";
import { omittedParts } from "../src/index.js";
import { meshOf, object } from "./mesh.js";

const ports = (name: string) => [{ name, port: 80, targetPort: 8080 }];
const mesh = (portName: string) =>
  meshOf(
    object("Service", "cart", { clusterIP: "10.96.0.1", selector: { app: "cart" }, ports: ports(portName) }) +
      object("Pod", "cart-1", { containers: [{ name: "app" }, { name: "istio-proxy" }] }, { labels: { app: "cart" } }) +
      object("AuthorizationPolicy", "cart", { rules: [{}, { to: [{ operation: { methods: ["GET"] } }] }] }).replace(
        "networking",
        "security",
      ),
  );
const clientsOf = (database: ReturnType<typeof meshOf>, extensions: readonly string[]) =>
  ["10.1.0.1", "10.1.0.2"].map((address) => {
    const proxy = proxyFromNode({ id: `sidecar~${address}~web.shop~shop.svc.cluster.local`, extensions });
    return { proxy, view: database.view(proxy) };
  });

it("a rule by HTTP attributes at a port without a declared protocol does not apply to Envoys without set_filter_state", () => {
  const undeclared = mesh("foo");
  expect(omittedParts(clientsOf(undeclared, ["envoy.filters.http.router"]))).toMatchObject([
    {
      ...{ kind: "AuthorizationPolicy", namespace: "shop", name: "cart", field: "spec.rules[1]", proxies: 2 },
      reason:
        "spec.rules[1] allows nothing at shop/cart:80, because only HTTP has methods, and an Envoy without set_filter_state does not announce HTTP over mutual TLS; declare the protocol by the port's name or appProtocol",
    },
  ]);
  for (const extensions of [["envoy.filters.http.set_filter_state"], ["envoy.filters.http.alpn"], []])
    expect(omittedParts(clientsOf(undeclared, extensions))).toEqual([]);
  expect(omittedParts(clientsOf(mesh("http"), ["envoy.filters.http.router"]))).toEqual([]);
});
