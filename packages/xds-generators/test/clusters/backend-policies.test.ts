import { expect, it } from "vitest";
import { destinationRule, serviceYaml } from "../mesh-yaml.js";
import { TestMesh } from "../mesh.js";

const cart = "outbound|80||cart.shop.svc.cluster.local";
const policy = `---
${JSON.stringify({
  apiVersion: "gateway.networking.k8s.io/v1",
  kind: "BackendTLSPolicy",
  metadata: { name: "cart", namespace: "shop" },
  spec: {
    targetRefs: [{ group: "", kind: "Service", name: "cart" }],
    validation: { hostname: "cart.example", wellKnownCACertificates: "System" },
  },
})}
`;

const sniOf = (mesh: TestMesh): unknown => mesh.proxy().cluster(cart).transportSocket?.typedConfig.sni;

it("a BackendTLSPolicy sets the TLS settings of its backend's cluster, and no others", () => {
  const mesh = new TestMesh(serviceYaml("cart", { ports: ["http:80"] }) + serviceYaml("web", { ports: ["http:80"] }));
  const web = mesh.proxy().cluster("outbound|80||web.shop.svc.cluster.local");
  expect(sniOf(mesh)).toBeUndefined();
  mesh.apply(policy);
  expect(sniOf(mesh)).toBe("cart.example");
  expect(mesh.proxy().cluster("outbound|80||web.shop.svc.cluster.local")).toEqual(web);
  mesh.remove(policy);
  expect(sniOf(mesh)).toBeUndefined();
});

it("the fields of a DestinationRule take precedence over those of policies, whichever is older", () => {
  const settings = { tls: { mode: "SIMPLE", sni: "own.example" }, connectionPool: { tcp: { maxConnections: 7 } } };
  const rule = (fields: object): string => destinationRule("cart.shop.svc.cluster.local", { trafficPolicy: fields });
  const mesh = new TestMesh(serviceYaml("cart", { ports: ["http:80"] }) + policy + rule(settings));
  expect(sniOf(mesh)).toBe("own.example");
  mesh.apply(rule({ connectionPool: settings.connectionPool }));
  expect(sniOf(mesh)).toBe("cart.example");
  expect(mesh.proxy().cluster(cart).circuitBreakers.thresholds[0].maxConnections).toBe(7);
});
