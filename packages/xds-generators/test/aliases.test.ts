import { describe, expect, it } from "vitest";
import { destinationRule, istioYaml, serviceEntry, serviceYaml } from "./mesh-yaml.js";
import { clusterType, type Json, type ProxyOptions, TestMesh } from "./mesh.js";

const routeType = "envoy.config.route.v3.RouteConfiguration";
const listenerType = "envoy.config.listener.v3.Listener";
const host = (name: string): string => `${name}.shop.svc.cluster.local`;
const target = `outbound|80||${host("cart")}`;

/** An alias of a host that declares these ports. */
const alias = (name: string, externalName: string, ports: readonly string[] = []): string =>
  serviceYaml(name, { ports, spec: { type: "ExternalName", externalName, clusterIP: "", selector: {} } });
const cart = serviceYaml("cart", { ip: "10.96.0.1" });
const entry = serviceYaml("entry", { ip: "10.96.0.2", ports: ["http:8888:8080", "tcp-db:9999"] });
const route = (destination: object, hosts = [host("entry")]): string =>
  istioYaml("VirtualService", "entry", { hosts, http: [{ route: [{ destination }] }] });

interface Reading extends ProxyOptions {
  readonly port?: string;
  readonly of?: string;
}

/** Returns the first route of a virtual host, by the name of the host. */
function routeOf(yaml: string, { port = "8888", of = `${host("entry")}:8888`, ...proxy }: Reading = {}): Json {
  const { virtualHosts } = new TestMesh(yaml).proxy(proxy).json(routeType, port);
  return virtualHosts.find(({ name }: Json) => name === of).routes[0].route;
}

/** Every cluster that a resource refers to. */
function clustersIn(resource: unknown): string[] {
  return [...new Set([...JSON.stringify(resource).matchAll(/"(outbound\|[^"]+)"/g)].map(([, name]) => name as string))];
}

describe("a route to an alias (ExternalName)", () => {
  it.each([
    ["at a port that the alias does not declare", alias("basket", host("cart"), ["http:80"])],
    ["that declares no ports", alias("basket", host("cart"))],
    ["that declares a port of its own", alias("basket", host("cart"), ["http:8888"])],
    ["whose name ends in a dot", alias("basket", `${host("cart")}.`)],
    ["of an alias", alias("basket", host("between")) + alias("between", host("cart"), ["http:99"])],
    [
      "of an alias in another namespace",
      alias("basket", "between.bank.svc.cluster.local") +
        serviceYaml("between", {
          namespace: "bank",
          ports: [],
          spec: { type: "ExternalName", externalName: host("cart"), clusterIP: "" },
        }),
    ],
  ])("%s leads to the service that it stands for", (_, aliases) => {
    const named = { host: host("basket"), port: { number: 80 } };
    expect(routeOf(cart + entry + aliases + route(named)).cluster).toBe(target);
  });

  it("without a port leads to the listener's port, or the only port of the service, never to one of the alias", () => {
    const basket = alias("basket", host("cart"), ["http:7070"]);
    expect(routeOf(cart + entry + basket + route({ host: "basket" })).cluster).toBe(target);
    const both = serviceYaml("cart", { ip: "10.96.0.1", ports: ["http:80", "http-b:8888"] });
    expect(routeOf(both + entry + basket + route({ host: "basket" })).cluster).toBe(`outbound|8888||${host("cart")}`);
  });

  it("leads to subsets, weighted clusters and mirrors of the service", () => {
    const to = { host: "basket", port: { number: 80 } };
    const weighted = istioYaml("VirtualService", "entry", {
      hosts: ["entry"],
      http: [
        {
          mirror: to,
          route: [
            { destination: { host: "entry" }, weight: 90 },
            { destination: { ...to, subset: "v1" }, weight: 10 },
          ],
        },
      ],
    });
    const rule = destinationRule(host("cart"), { subsets: [{ name: "v1", labels: { version: "v1" } }] });
    const action = routeOf(cart + entry + alias("basket", host("cart")) + rule + weighted);
    expect(action.requestMirrorPolicies).toMatchObject([{ cluster: target }]);
    expect(action.weightedClusters.clusters.map(({ name }: Json) => name)).toEqual([
      `outbound|8888||${host("entry")}`,
      `outbound|80|v1|${host("cart")}`,
    ]);
  });

  it("hashes as the service's policy says", () => {
    const hash = { consistentHash: { httpHeaderName: "x" } };
    const rule = destinationRule(host("cart"), {
      trafficPolicy: { portLevelSettings: [{ port: { number: 80 }, loadBalancer: hash }] },
    });
    const action = routeOf(cart + entry + alias("basket", host("cart")) + rule + route({ host: "basket" }));
    expect(action.hashPolicy).toEqual([{ header: { headerName: "x" } }]);
  });

  it("leads to a ServiceEntry's host", () => {
    const api = serviceEntry("api", {
      hosts: ["api.example.com"],
      ports: [{ number: 443, name: "http", protocol: "HTTP" }],
      resolution: "DNS",
    });
    const action = routeOf(entry + api + alias("basket", "api.example.com") + route({ host: "basket" }));
    expect(action.cluster).toBe("outbound|443||api.example.com");
  });

  it("is not resolved in a cycle, or for clients to which the alias is not exported", () => {
    const cycle = alias("basket", host("other")) + alias("other", host("basket"));
    const named = { host: "basket", port: { number: 80 } };
    expect(routeOf(cart + entry + cycle + route(named)).cluster).toBe(`outbound|80||${host("basket")}`);
    const hidden = serviceYaml("basket", {
      ports: [],
      annotations: { "networking.istio.io/exportTo": "." },
      spec: { type: "ExternalName", externalName: host("cart"), clusterIP: "" },
    });
    const yaml = cart + entry + hidden + route(named);
    expect(routeOf(yaml).cluster).toBe(target);
    expect(routeOf(yaml, { namespace: "bank" }).cluster).toBe(`outbound|80||${host("basket")}`);
  });

  it("of TCP and TLS leads to the service, with its policy", () => {
    const tcp = istioYaml("VirtualService", "db", {
      hosts: [host("entry")],
      tcp: [{ match: [{ port: 9999 }], route: [{ destination: { host: "basket", port: { number: 80 } } }] }],
    });
    const rule = destinationRule(host("cart"), { trafficPolicy: { connectionPool: { tcp: { idleTimeout: "7s" } } } });
    const proxy = new TestMesh(cart + entry + alias("basket", host("cart")) + rule + tcp).proxy();
    const listener = proxy.json(listenerType, "10.96.0.2_9999");
    expect(clustersIn(listener)).toEqual([target]);
    expect(JSON.stringify(listener)).toContain('"idleTimeout":"7s"');
    const tls = serviceEntry("secure", {
      hosts: ["secure.example.com"],
      addresses: ["240.0.0.9"],
      ports: [{ number: 443, name: "tls", protocol: "TLS" }],
      resolution: "STATIC",
    });
    const sni = istioYaml("VirtualService", "secure", {
      hosts: ["secure.example.com"],
      tls: [
        {
          match: [{ port: 443, sniHosts: ["secure.example.com"] }],
          route: [{ destination: { host: "basket", port: { number: 80 } } }],
        },
      ],
    });
    const secure = new TestMesh(cart + alias("basket", host("cart")) + tls + sni).proxy();
    expect(clustersIn(secure.json(listenerType, "240.0.0.9_443"))).toEqual([target]);
  });

  it("leads to the service at a gateway, which has its cluster even if it has only clusters of its routes", () => {
    const gateway = istioYaml("Gateway", "web", {
      selector: { istio: "edge" },
      servers: [
        { port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["a.example.com"] },
        { port: { number: 9000, name: "tcp", protocol: "TCP" }, hosts: ["*"] },
      ],
    });
    const to = { host: host("basket"), port: { number: 80 } };
    const bound = istioYaml("VirtualService", "web", {
      hosts: ["a.example.com"],
      gateways: ["web"],
      http: [{ route: [{ destination: to }] }],
      tcp: [{ match: [{ port: 9000 }], route: [{ destination: to }] }],
    });
    const mesh = new TestMesh(cart + entry + alias("basket", host("cart"), ["http:8888"]) + gateway + bound);
    mesh.set("PILOT_FILTER_GATEWAY_CLUSTER_CONFIG", "true");
    const router = mesh.proxy({ type: "router", labels: { istio: "edge" } });
    expect(clustersIn(router.json(routeType, "http.80"))).toEqual([target]);
    expect(clustersIn(router.json(listenerType, "0.0.0.0_9000"))).toEqual([target]);
    expect(router.names(clusterType).filter((name) => name.startsWith("outbound"))).toEqual([target]);
  });

  it("leads to the service from an Ingress, by the number or the name of the service's port", () => {
    const ingress = (port: object): string =>
      `---\n${JSON.stringify({
        apiVersion: "networking.k8s.io/v1",
        kind: "Ingress",
        metadata: { name: "web", namespace: "shop", annotations: { "kubernetes.io/ingress.class": "istio" } },
        spec: {
          rules: [
            {
              host: "a.example.com",
              http: { paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "basket", port } } }] },
            },
          ],
        },
      })}\n`;
    const labels = { istio: "ingressgateway" };
    for (const port of [{ number: 80 }, { name: "http" }]) {
      const mesh = new TestMesh(cart + alias("basket", host("cart"), ["http:8888"]) + ingress(port));
      const router = mesh.proxy({ type: "router", namespace: "istio-system", labels });
      expect(clustersIn(router.json(routeType, "http.80"))).toEqual([target]);
    }
  });
});

describe("the host of an alias", () => {
  it("has the routes of its VirtualService at the ports of the service", () => {
    const many = serviceYaml("cart", { ip: "10.96.0.1", ports: ["http:8080", "http-b:9090"] });
    const own = route({ host: "cart", port: { number: 9090 } }, ["basket"]);
    const of = `${host("basket")}:8080`;
    for (const ports of [[], ["http:80"]]) {
      const yaml = many + alias("basket", host("cart"), ports) + own;
      expect(routeOf(yaml, { port: "8080", of }).cluster).toBe(`outbound|9090||${host("cart")}`);
    }
  });
});

describe("a Sidecar that imports an alias", () => {
  const sidecar = (...hosts: string[]): string => istioYaml("Sidecar", "default", { egress: [{ hosts }] });
  const basket = serviceYaml("basket", {
    namespace: "bank",
    ports: [],
    spec: { type: "ExternalName", externalName: host("cart"), clusterIP: "" },
  });
  const web = { namespace: "bank" };
  const inBank = (...hosts: string[]): string => sidecar(...hosts).replace('"namespace":"shop"', '"namespace":"bank"');
  const domains = (proxy: ReturnType<TestMesh["proxy"]>): string[] =>
    proxy.json(routeType, "80").virtualHosts.flatMap((each: Json) => each.domains as string[]);

  it.each([
    ["by name", ["./basket.bank.svc.cluster.local"]],
    ["by a wildcard", ["./*"]],
    ["in any namespace", ["*/basket.bank.svc.cluster.local"]],
  ])("%s has the cluster and the routes of the service", (_, hosts) => {
    const proxy = new TestMesh(cart + entry + basket + inBank(...hosts)).proxy(web);
    expect(proxy.names(clusterType).filter((name) => name.startsWith("outbound"))).toEqual([target]);
    expect(domains(proxy)).toContain("basket.bank.svc.cluster.local");
  });

  it("has nothing of it if the service is excluded or not exported", () => {
    const excluded = new TestMesh(cart + basket + inBank("./*", `~shop/${host("cart")}`)).proxy(web);
    expect(excluded.names(clusterType)).not.toContain(target);
    const secret = serviceYaml("cart", { annotations: { "networking.istio.io/exportTo": "." } });
    expect(new TestMesh(secret + basket + inBank("./*")).proxy(web).names(clusterType)).not.toContain(target);
  });

  it("follows a change of the alias", () => {
    const mesh = new TestMesh(cart + entry + basket + inBank("./*"));
    const proxy = mesh.proxy(web);
    expect(domains(proxy)).toContain("basket.bank.svc.cluster.local");
    mesh.apply(basket.replace(host("cart"), host("entry")));
    expect(proxy.names(clusterType).filter((name) => name.startsWith("outbound"))).toEqual([
      `outbound|8888||${host("entry")}`,
      `outbound|9999||${host("entry")}`,
    ]);
  });
});
