import { productBounds } from "@istiod/config-schema";
import { describe, expect, test } from "vitest";
import { messagesIn, object } from "./messages-in.js";

const named = (kind: string, name: string, spec: object): string => object(kind, name, { spec });

const entry = (ports: number): string =>
  named("ServiceEntry", "shop/cart", {
    hosts: ["cart.example.com"],
    resolution: "STATIC",
    ports: Array.from({ length: ports }, (_, i) => ({ number: i + 1, name: `http-${i}`, protocol: "HTTP" })),
    endpoints: [{ address: "10.2.0.1" }],
  });
const rule = (subsets: number): string =>
  named("DestinationRule", "shop/cart", {
    host: "cart.example.com",
    subsets: Array.from({ length: subsets }, (_, i) => ({ name: `s${i}`, labels: { version: `v${i}` } })),
  });

test("subsets that have no clusters are found, without a proxy", () => {
  expect(messagesIn(entry(100) + rule(49), ["MESH0020"])).toEqual([]);
  const [found, ...others] = messagesIn(entry(100) + rule(50), ["MESH0020"]);
  expect(others).toEqual([]);
  expect(found).toMatch(/^MESH0020 DestinationRule shop\/cart /);
  expect(found).toContain(
    "the last 1 subsets have no clusters: for cart.example.com, 100 ports × 51 subsets and the service itself = 5100 clusters, of at most 5000 (ISTIOD_MAX_CLUSTERS_OF_SERVICE)",
  );
});

test("subsets of a wildcard host that multiply with all of its services are found", () => {
  const services = named("ServiceEntry", "shop/all", {
    hosts: Array.from({ length: 1000 }, (_, i) => `h${i}.example.com`),
    resolution: "STATIC",
    ports: [{ number: 80, name: "http", protocol: "HTTP" }],
    endpoints: [{ address: "10.2.0.1" }],
  });
  const wildcard = (subsets: number): string =>
    named("DestinationRule", "shop/all", {
      host: "*.example.com",
      subsets: Array.from({ length: subsets }, (_, i) => ({ name: `s${i}`, labels: { version: `v${i}` } })),
    });
  expect(messagesIn(services + wildcard(100), ["MESH0020"])).toEqual([]);
  const [found] = messagesIn(services + wildcard(101), ["MESH0020"]);
  expect(found).toContain(
    "the last 1 subsets have no clusters: the 101 subsets of *.example.com at all ports of its services are more than 100000 clusters (ISTIOD_MAX_CLUSTERS_OF_DESTINATION_RULE)",
  );
});

describe("policies that are too large for all ports", () => {
  const subjectAltNames = Array.from({ length: 100 }, (_, i) => `spiffe://cluster.local/ns/shop/sa/name-${i}`);
  const policy = (name: string, host: string): string =>
    named("DestinationRule", name, { host, trafficPolicy: { tls: { mode: "SIMPLE", subjectAltNames } } });
  const environment = { [productBounds.rulePolicyBytes.variable]: "400000" };
  const found = (yaml: string): readonly string[] => messagesIn(yaml, ["MESH0020"], { environment });

  test("are found", () => {
    expect(found(entry(50) + policy("shop/cart", "cart.example.com"))).toEqual([]);
    for (const host of ["cart.example.com", "*.example.com"]) {
      const [message, ...others] = found(entry(256) + policy("shop/cart", host));
      expect(others).toEqual([]);
      expect(message).toMatch(/^MESH0020 DestinationRule shop\/cart /);
      expect(message).toContain(`requests to ${host} fail, as it has no clusters: 256 ports `);
      expect(message).toContain("of at most 400000 (ISTIOD_MAX_POLICY_BYTES_OF_DESTINATION_RULE)");
    }
  });

  test("are found for services of other namespaces than the rule's", () => {
    const [message, ...others] = found(entry(256) + policy("istio-system/all", "*.example.com"));
    expect(others).toEqual([]);
    expect(message).toMatch(/^MESH0020 DestinationRule istio-system\/all /);
    expect(message).toContain(
      "requests to *.example.com outside of namespace istio-system fail, as it has no clusters: 256 ports of all services ",
    );
    expect(found(entry(50) + policy("istio-system/all", "*.example.com"))).toEqual([]);
  });
});

test("subsets of a wildcard host in another namespace than its services are found", () => {
  const wildcard = named("DestinationRule", "istio-system/all", {
    host: "*.example.com",
    subsets: Array.from({ length: 20 }, (_, i) => ({ name: `s${i}`, labels: { version: `v${i}` } })),
  });
  const [message, ...others] = messagesIn(entry(100) + wildcard, ["MESH0020"], {
    environment: { [productBounds.ruleClusters.variable]: "1800" },
  });
  expect(others).toEqual([]);
  expect(message).toContain("the last 2 subsets of services outside of namespace istio-system have no clusters: ");
});

test("routes of a delegate beyond the bound are found", () => {
  const hosts = Array.from({ length: 500 }, (_, i) => `h${i}.example.com`);
  const root = named("VirtualService", "shop/root", {
    hosts,
    http: [{ match: [{ uri: { prefix: "/" } }], delegate: { name: "delegate" } }],
  });
  const delegate = (routes: number): string =>
    named("VirtualService", "shop/delegate", {
      http: Array.from({ length: routes }, (_, i) => ({
        match: [{ uri: { prefix: `/${i}/` } }],
        route: [{ destination: { host: "cart.example.com" } }],
      })),
    });
  expect(messagesIn(root + delegate(100), ["MESH0020"])).toEqual([]);
  const [found] = messagesIn(root + delegate(101), ["MESH0020"]);
  expect(found).toContain("500 hosts × 101 matches = 50500 routes, of at most 50000");
  expect(found).toContain("the last 1 of its routes are ignored");
});

test("routes of a VirtualService that multiply with the servers of its Gateway are found", () => {
  const gateway = (servers: number): string =>
    named("Gateway", "shop/edge", {
      selector: { istio: "ingress" },
      servers: Array.from({ length: servers }, (_, i) => ({
        port: { number: 1000 + i, name: `http-${i}`, protocol: "HTTP" },
        hosts: ["*"],
      })),
    });
  const routes = named("VirtualService", "shop/routes", {
    hosts: Array.from({ length: 100 }, (_, i) => `h${i}.example.com`),
    gateways: ["edge"],
    http: Array.from({ length: 250 }, (_, i) => ({
      match: [{ uri: { prefix: `/${i}/` } }],
      route: [{ destination: { host: "cart.example.com" } }],
    })),
  });
  expect(messagesIn(gateway(10) + routes, ["MESH0020"])).toEqual([]);
  const [found, ...others] = messagesIn(gateway(12) + routes, ["MESH0020"]);
  expect(others).toEqual([]);
  expect(found).toContain(
    "servers[10] of Gateway shop/edge and those after it lack its routes: 275000 routes at the first 11 servers of Gateway shop/edge, of at most 250000 (ISTIOD_MAX_GATEWAY_ROUTES_OF_VIRTUAL_SERVICE)",
  );
});

test("workloads that multiply with the hosts and ports of a ServiceEntry are found", () => {
  const selecting = named("ServiceEntry", "shop/all", {
    hosts: Array.from({ length: 250 }, (_, i) => `h${i}.example.com`),
    resolution: "STATIC",
    ports: Array.from({ length: 20 }, (_, i) => ({ number: i + 1, name: `http-${i}`, protocol: "HTTP" })),
    workloadSelector: { labels: { app: "cart" } },
  });
  const workloads = (count: number): string =>
    Array.from({ length: count }, (_, i) =>
      named("WorkloadEntry", `shop/w${100 + i}`, { address: `10.2.0.${i}`, labels: { app: "cart" } }),
    ).join("");
  expect(messagesIn(selecting + workloads(50), ["MESH0020"])).toEqual([]);
  const [found, ...others] = messagesIn(selecting + workloads(52), ["MESH0020"]);
  expect(others).toEqual([]);
  expect(found).toContain(
    "the last 2 workloads, by name, are no endpoints: 250 hosts × 20 ports × 1 addresses × 52 workloads = 260000 endpoints, of at most 250000 (ISTIOD_MAX_ENDPOINTS_OF_SERVICE_ENTRY)",
  );
});
