import { describe, expect, it } from "vitest";
import { shadowedHosts } from "../../src/index.js";
import { istioYaml, serviceEntry, serviceYaml } from "../mesh-yaml.js";
import { cart, cartVirtualService, type MeshOptions, RouteMesh, toCart } from "./route-mesh.js";

const host = "cart.shop.svc.cluster.local";

describe("the domains of a service", () => {
  it("are its names, shortened by the client's DNS domain, and its addresses", () => {
    const mesh = new RouteMesh(cart);
    const domains = (namespace: string) => mesh.sidecar(namespace).hosts("80")[`${host}:80`]?.domains;
    expect(domains("shop")).toEqual([host, `${host}.`, "cart", "cart.shop.svc", "cart.shop", "10.96.0.1"]);
    expect(domains("payments")).toEqual([host, `${host}.`, "cart.shop", "cart.shop.svc", "10.96.0.1"]);
  });

  it("exist for the HTTP port if a UDP port has the same number, and only from a VirtualService for a UDP-only host", () => {
    const both = new RouteMesh(serviceYaml("cart", { ports: ["udp-quic:80", "http:80"] }));
    expect(both.sidecar().hosts("80")[`${host}:80`]?.domains).toContain("10.96.0.1");
    const udp = new RouteMesh(
      serviceYaml("cart", { ports: ["udp-quic:80"] }) + cartVirtualService([{ directResponse: { status: 204 } }]),
    );
    expect(udp.sidecar().hosts("80")[`${host}:80`]?.domains).toEqual([host]);
  });

  it("of a wildcard host do not include its wildcard alone, which is the domain of unknown hosts", () => {
    const wildcard = serviceEntry("all", {
      hosts: ["*.shop.svc.cluster.local"],
      resolution: "NONE",
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
    });
    const hosts = new RouteMesh(wildcard).sidecar("shop").hosts("80");
    expect(hosts["*.shop.svc.cluster.local:80"]?.domains).toEqual([
      "*.shop.svc.cluster.local",
      "*.shop.svc.cluster.local.",
      "*.shop.svc",
      "*.shop",
    ]);
    expect(hosts["allow_any"]?.domains).toEqual(["*"]);
  });

  it("include a wildcard for the pods of a headless service", () => {
    const mesh = new RouteMesh(serviceYaml("cart", { ip: "None" }));
    expect(mesh.sidecar("payments").hosts("80")[`${host}:80`]?.domains).toEqual([
      ...[host, `${host}.`, "cart.shop", "cart.shop.svc"],
      ...[`*.${host}`, `*.${host}.`, "*.cart.shop", "*.cart.shop.svc"],
    ]);
  });

  it("include ExternalName services that refer to it", () => {
    const alias = serviceYaml("alias", { spec: { type: "ExternalName", externalName: host, clusterIP: "" } });
    const hosts = new RouteMesh(cart + alias).sidecar().hosts("80");
    expect(hosts[`${host}:80`]?.domains).toEqual(
      expect.arrayContaining(["alias", "alias.shop.svc.cluster.local", "cart"]),
    );
    expect(Object.keys(hosts)).toEqual([`${host}:80`, "allow_any"]);
  });

  it("include short names of an ExternalName service whose target has no namespace, at every port of the target", () => {
    const ports = [80, 9090].map((number) => ({ number, name: `http-${number}`, protocol: "HTTP" }));
    const entry = serviceEntry("api", { hosts: ["api.internal"], ports, resolution: "DNS" });
    const alias = serviceYaml("alias", { spec: { type: "ExternalName", externalName: "api.internal", clusterIP: "" } });
    const domains = (namespace: string) =>
      new RouteMesh(entry + alias).sidecar(namespace).hosts("9090")["api.internal:9090"]?.domains;
    expect(domains("shop")).toContain("alias");
    expect(domains("payments")).not.toContain("alias");
    expect(domains("payments")).toContain("alias.shop");
  });

  it("have IPv6 addresses in brackets", () => {
    const mesh = new RouteMesh(
      serviceEntry("v6", {
        hosts: ["six.example.com"],
        addresses: ["fd00::1"],
        ports: [{ number: 80, name: "http", protocol: "HTTP" }],
        resolution: "DNS",
      }),
    );
    expect(mesh.sidecar().hosts("80")["six.example.com:80"]?.domains).toEqual([
      "six.example.com",
      "six.example.com.",
      "[fd00::1]",
    ]);
  });

  it("are unique, even if an object repeats an address", () => {
    const twice = serviceYaml("cart", { ip: "10.96.0.1", spec: { clusterIPs: ["10.96.0.1", "10.96.0.1"] } });
    expect(
      new RouteMesh(twice)
        .sidecar()
        .hosts("80")
        [`${host}:80`]?.domains.filter((domain) => domain === "10.96.0.1"),
    ).toHaveLength(1);
  });

  it("of a ServiceEntry are not shortened", () => {
    const mesh = new RouteMesh(
      serviceEntry("e", {
        hosts: ["api.shop.example.com"],
        ports: [{ number: 80, name: "http", protocol: "HTTP" }],
        resolution: "DNS",
      }),
    );
    expect(mesh.sidecar().hosts("80")["api.shop.example.com:80"]?.domains).toEqual([
      "api.shop.example.com",
      "api.shop.example.com.",
    ]);
  });
});

describe("a domain of two hosts", () => {
  it("belongs to the first one, ignoring case", () => {
    const twice = istioYaml("VirtualService", "upper", { hosts: ["A.example.com", "a.example.com"], http: [toCart] });
    const hosts = new RouteMesh(cart + twice).sidecar().hosts("80");
    expect(Object.keys(hosts)).toEqual(["a.example.com:80", `${host}:80`, "allow_any"]);
  });

  it("belongs to the host with exactly that name before a short name", () => {
    const entry = serviceEntry("short", {
      hosts: ["cart.shop"],
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
      resolution: "DNS",
    });
    const hosts = new RouteMesh(cart + entry).sidecar("payments").hosts("80");
    expect(hosts[`${host}:80`]?.domains).not.toContain("cart.shop");
    expect(hosts["cart.shop:80"]?.domains).toContain("cart.shop");
  });

  it("belongs to the older VirtualService, and the other is reported as shadowed", () => {
    const mesh = new RouteMesh(cart + cartVirtualService([{ name: "first", ...toCart }]));
    mesh.apply(istioYaml("VirtualService", "late", { hosts: ["cart"], http: [{ name: "second", ...toCart }] }));
    const client = mesh.sidecar();
    expect(client.cartRoutes().map((route) => route["name"])).toEqual(["first"]);
    expect(client.view.call(shadowedHosts, "80")).toEqual([
      { host, port: 80, shadowedBy: "shop/cart", virtualService: "shop/late" },
    ]);
  });
});

describe("wildcard hosts", () => {
  it("match each service without a more specific host", () => {
    const wide = istioYaml("VirtualService", "wide", {
      hosts: ["*.shop.svc.cluster.local"],
      http: [{ name: "wide", ...toCart }],
    });
    const mesh = new RouteMesh(
      cart + serviceYaml("other", { ip: "10.96.0.2" }) + wide + cartVirtualService([{ name: "own", ...toCart }]),
    );
    const hosts = mesh.sidecar().hosts("80");
    expect(hosts[`${host}:80`]?.routes).toMatchObject([{ name: "own" }]);
    expect(hosts["other.shop.svc.cluster.local:80"]?.routes).toMatchObject([{ name: "wide" }]);
    expect(hosts).not.toHaveProperty("*.shop.svc.cluster.local:80");
  });

  it("are hosts of their own if they match no service", () => {
    const mesh = new RouteMesh(
      cart + istioYaml("VirtualService", "outside", { hosts: ["*.example.com"], http: [toCart] }),
    );
    expect(mesh.sidecar().hosts("80")["*.example.com:80"]?.domains).toEqual(["*.example.com"]);
  });
});

describe("hosts without a service", () => {
  it("are routed only at port 80", () => {
    const mesh = new RouteMesh(
      cart +
        serviceYaml("other", { ports: ["http:81"] }) +
        istioYaml("VirtualService", "outside", { hosts: ["shop.example.com"], http: [toCart] }),
    );
    expect(mesh.sidecar().hosts("80")).toHaveProperty(["shop.example.com:80"]);
    expect(Object.keys(mesh.sidecar().hosts("81"))).toEqual(["other.shop.svc.cluster.local:81", "allow_any"]);
  });
});

describe("the route configuration", () => {
  it("of a port ends with the catch-all virtual host", () => {
    const last = (options: MeshOptions, yaml = "") =>
      new RouteMesh(cart + yaml, options).sidecar().configuration("80").virtualHosts?.at(-1);
    expect(last({})).toMatchObject({
      name: "allow_any",
      domains: ["*"],
      routes: [{ route: { cluster: "PassthroughCluster", timeout: "0s" } }],
    });
    expect(last({ settings: { outboundTrafficPolicy: { mode: "REGISTRY_ONLY" } } })).toMatchObject({
      name: "block_all",
      routes: [{ directResponse: { status: 502 } }],
    });
    const proxied = istioYaml("Sidecar", "s", {
      egress: [{ hosts: ["*/*"] }],
      outboundTrafficPolicy: { mode: "ALLOW_ANY", egressProxy: { host: "egress.example.com", port: { number: 9090 } } },
    });
    expect(last({}, proxied)).toMatchObject({ routes: [{ route: { cluster: "outbound|9090||egress.example.com" } }] });
  });

  it("of a host with detected protocol takes all requests to its address", () => {
    const mesh = new RouteMesh(serviceYaml("cart", { ports: ["any:9000"] }));
    expect(mesh.sidecar().configuration(`${host}:9000`)).toMatchObject({
      name: `${host}:9000`,
      virtualHosts: [{ name: `${host}:9000`, domains: ["*"] }],
    });
  });

  it("of the generic HTTP proxy distinguishes ports", () => {
    const mesh = new RouteMesh(serviceYaml("cart", { ip: "10.96.0.1", ports: ["http:80", "http-alt:8080"] }));
    const hosts = mesh.sidecar("payments").hosts("http_proxy");
    expect(hosts[`${host}:80`]?.domains).toEqual(expect.arrayContaining([host, `${host}:80`, "10.96.0.1:80"]));
    expect(hosts[`${host}:8080`]?.domains.every((domain) => domain.includes(":8080"))).toBe(true);
  });

  it("with an invalid name is empty", () => {
    expect(new RouteMesh(cart).sidecar().configuration("nonsense")).toEqual({
      name: "nonsense",
      validateClusters: false,
    });
  });

  it("includes attempt counts unless proxy headers disable them", () => {
    const counting = (metadata = {}) =>
      new RouteMesh(cart).sidecar("shop", metadata).hosts("80")["allow_any"]?.["includeRequestAttemptCount"];
    expect(counting()).toBe(true);
    expect(counting({ PROXY_CONFIG: { proxyHeaders: { attemptCount: { disabled: true } } } })).toBeUndefined();
  });
});
