import { describe, expect, it } from "vitest";
import { chainsOf, filterOf, listenerOf, tcpProxy } from "./listeners/listener-parts.js";
import { destinationRule, istioYaml, serviceYaml } from "./mesh-yaml.js";
import { type Json, TestMesh } from "./mesh.js";

const routeType = "envoy.config.route.v3.RouteConfiguration";
const cart = serviceYaml("cart", { ip: "10.96.0.1", ports: ["http:80"] });
const db = serviceYaml("db", { ip: "10.96.0.2", ports: ["tcp:5432"] });
const edge = { type: "router", namespace: "istio-system", labels: { istio: "ingressgateway" } } as const;
const atPort = (number: number, loadBalancer: object): object => ({
  portLevelSettings: [{ port: { number }, loadBalancer }],
});
const cookie = { consistentHash: { httpCookie: { name: "sid", ttl: "0s" } } };
const bySource = { consistentHash: { useSourceIp: true } };

describe("a consistent hash of a port", () => {
  const gateway = istioYaml("Gateway", "web", {
    selector: { istio: "ingressgateway" },
    servers: [
      { port: { number: 8080, name: "http", protocol: "HTTP" }, hosts: ["a.example.com"] },
      { port: { number: 9000, name: "tcp", protocol: "TCP" }, hosts: ["*"] },
    ],
  });
  const rules = destinationRule("cart", { trafficPolicy: atPort(80, cookie) });

  it("applies to a route of a gateway that names no port, as the service has only one", () => {
    const http = [{ route: [{ destination: { host: "cart" } }] }];
    const web = istioYaml("VirtualService", "web", { hosts: ["a.example.com"], gateways: ["web"], http });
    const { virtualHosts } = new TestMesh(cart + rules + gateway + web).proxy(edge).json(routeType, "http.8080");
    const { cluster, hashPolicy } = virtualHosts[0].routes[0].route;
    expect(cluster).toBe("outbound|80||cart.shop.svc.cluster.local");
    expect(hashPolicy).toEqual([{ cookie: { name: "sid", ttl: "0s" } }]);
  });

  it("applies to the route of an Ingress", () => {
    const ingress = `---\n${JSON.stringify({
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: "web", namespace: "shop", annotations: { "kubernetes.io/ingress.class": "istio" } },
      spec: {
        defaultBackend: { service: { name: "cart", port: { number: 80 } } },
        rules: [
          {
            http: {
              paths: [
                { path: "/", pathType: "Prefix", backend: { service: { name: "cart", port: { name: "http" } } } },
              ],
            },
          },
        ],
      },
    })}\n`;
    const { virtualHosts } = new TestMesh(cart + rules + ingress).proxy(edge).json(routeType, "http.80");
    expect(virtualHosts.flatMap(({ routes }: Json) => routes.map(({ route }: Json) => route.hashPolicy))).toEqual([
      [{ cookie: { name: "sid", ttl: "0s" } }],
    ]);
  });

  const hashOf = (listener: Json): Json => filterOf(chainsOf(listener)[0], tcpProxy).hashPolicy;
  const sourceIp = [{ sourceIp: {} }];

  it("applies to TCP connections, with and without a route", () => {
    const rule = (trafficPolicy: object): string => destinationRule("db", { trafficPolicy });
    const plain = (yaml: string): Json => hashOf(listenerOf(new TestMesh(db + yaml).proxy(), "10.96.0.2_5432"));
    expect(plain(rule(atPort(5432, bySource)))).toEqual(sourceIp);
    expect(plain(rule({ loadBalancer: bySource }))).toEqual(sourceIp);
    expect(plain(rule(atPort(80, bySource)))).toBeUndefined();
    expect(plain(rule({ loadBalancer: bySource, ...atPort(5432, { simple: "RANDOM" }) }))).toBeUndefined();
    const tcp = [{ route: [{ destination: { host: "db" } }] }];
    const routed = istioYaml("VirtualService", "db", { hosts: ["db"], tcp });
    expect(plain(routed + rule(atPort(5432, bySource)))).toEqual(sourceIp);
  });

  it("applies to TCP routes of gateways, and to weighted destinations", () => {
    const tcp = (...hosts: string[]) => [
      {
        match: [{ port: 9000 }],
        route: hosts.map((host) => ({ destination: { host }, ...(hosts.length > 1 && { weight: 50 }) })),
      },
    ];
    const web = (...hosts: string[]): string =>
      istioYaml("VirtualService", "web", { hosts: ["*"], gateways: ["web"], tcp: tcp(...hosts) });
    const mesh = (route: string): TestMesh =>
      new TestMesh(cart + db + gateway + route + destinationRule("db", { trafficPolicy: atPort(5432, bySource) }));
    const found = (route: string): Json => hashOf(listenerOf(mesh(route).proxy(edge), "0.0.0.0_9000"));
    expect(found(web("db"))).toEqual(sourceIp);
    expect(found(web("cart", "db"))).toEqual(sourceIp);
    expect(found(web("cart"))).toBeUndefined();
  });
});
