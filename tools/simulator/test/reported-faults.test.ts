import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { generate, type ScenarioProxy } from "@istiod/parity";
import { describe, expect, it } from "vitest";
import { type Call, simulate } from "../src/index.js";

/** Calls in the situations of the reported faults of Istio that docs/parity.md lists. */

const kinds: Readonly<Record<string, string>> = {
  Service: "v1",
  Pod: "v1",
  Ingress: "networking.k8s.io/v1",
};
const object = (kind: string, name: string, spec: object, metadata: object = {}): string => {
  const [namespace, own] = name.split("/");
  const apiVersion = kinds[kind] ?? "networking.istio.io/v1";
  return JSON.stringify({ apiVersion, kind, metadata: { namespace, name: own, ...metadata }, spec });
};
const service = (name: string, clusterIP: string, port = 80): string =>
  object("Service", name, { clusterIP, ports: [{ name: "http", port, targetPort: 8080 }] });
const alias = (name: string, externalName: string, ports: readonly object[] = []): string =>
  object("Service", name, { type: "ExternalName", externalName, ports });
const proxy = (type: string, name: string, address: string, labels: object = {}, metadata = {}): ScenarioProxy => {
  const namespace = name.split(".")[1] ?? "";
  const id = `${type}~${address}~${name}~${namespace}.svc.cluster.local`;
  const node = { id, metadata: { NAMESPACE: namespace, LABELS: { ...labels }, ...metadata } };
  return { key: name, origin: name, node };
};
const proxies = [
  proxy("sidecar", "web.shop", "10.1.0.1"),
  proxy("sidecar", "teller.bank", "10.1.1.1"),
  proxy("sidecar", "dns.shop", "10.1.0.2", {}, { DNS_CAPTURE: "true", DNS_AUTO_ALLOCATE: "true" }),
  proxy("router", "gw.istio-system", "10.1.9.1", { istio: "ingressgateway" }),
];

/** Returns a function that simulates a call of a proxy, and fails if it leads to a cluster that the proxy lacks. */
function meshOf(...objects: readonly string[]): (from: string, call: Call) => string {
  const base = mkdtempSync(join(tmpdir(), "reported-faults-"));
  try {
    writeFileSync(join(base, "objects.yaml"), [service("shop/cart", "10.96.0.10"), ...objects].join("\n---\n"));
    const found = generate({ name: "reported", base, folder: undefined, config: {}, proxies }, ["cds", "lds", "rds"]);
    return (from, call) => {
      const of = (type: string): readonly (readonly [string, Uint8Array])[] => [
        ...(found.get(`${from} ${type}`) ?? new Map<string, Uint8Array>()),
      ];
      const { error, clusterMatched = "none" } = simulate(
        {
          listeners: of("lds").map(([, bytes]) => fromBinary(ListenerSchema, bytes)),
          routes: new Map(of("rds").map(([name, bytes]) => [name, fromBinary(RouteConfigurationSchema, bytes)])),
        },
        call,
      );
      if (error !== undefined) return error;
      return of("cds").some(([name]) => name === clusterMatched) ? clusterMatched : `absent: ${clusterMatched}`;
    };
  } finally {
    rmSync(base, { recursive: true });
  }
}
const http = (hostHeader: string, port = 80, path = "/"): Call => ({ hostHeader, port, path, protocol: "http" });
const cart = "outbound|80||cart.shop.svc.cluster.local";
const routeTo = (name: string, hosts: readonly string[], destination: object, spec: object = {}): string =>
  object("VirtualService", name, { hosts, http: [{ route: [{ destination }] }], ...spec });

describe("a call", () => {
  it.each([
    [
      "that declares other ports",
      [alias("shop/basket", "cart.shop.svc.cluster.local", [{ name: "http", port: 8888 }])],
    ],
    ["without ports", [alias("shop/basket", "cart.shop.svc.cluster.local")]],
    [
      "of another alias",
      [alias("shop/basket", "between.bank.svc.cluster.local"), alias("bank/between", "cart.shop.svc.cluster.local.")],
    ],
  ])("through an alias %s reaches the service (istio#61519)", (_, aliases) => {
    const entry = service("shop/entry", "10.96.0.20", 8888);
    const to = { host: "basket.shop.svc.cluster.local", port: { number: 80 } };
    const call = meshOf(...aliases, entry, routeTo("shop/entry", ["entry.shop.svc.cluster.local"], to));
    expect(call("web.shop", http("entry", 8888))).toBe(cart);
    expect(call("teller.bank", http("entry.shop.svc.cluster.local", 8888))).toBe(cart);
  });

  it("to a name with an automatic address reaches each port of the host (istio#55776)", () => {
    const part = (name: string, port: number, value: string): string =>
      JSON.stringify({
        ...(JSON.parse(
          object(
            "ServiceEntry",
            `shop/${name}`,
            {
              hosts: ["broker.example.net"],
              location: "MESH_EXTERNAL",
              resolution: "DNS",
              ports: [{ number: port, name: "tcp", protocol: "TCP" }],
            },
            { creationTimestamp: `2025-01-0${port % 10}T00:00:00Z` },
          ),
        ) as object),
        status: { addresses: [{ host: "broker.example.net", value }] },
      });
    const parts = [part("a", 7001, "240.240.0.1"), part("b", 7002, "240.240.0.2"), part("c", 7003, "240.240.0.3")];
    const call = meshOf(...parts);
    for (const port of [7001, 7002, 7003])
      expect(call("dns.shop", { address: "240.240.0.1", port, protocol: "tcp" })).toBe(
        `outbound|${port}||broker.example.net`,
      );
  });

  it("of a client that a DestinationRule does not select has the subset of another one (istio#58322)", () => {
    const subset = (name: string, spec: object): string =>
      object("DestinationRule", name, { host: "cart.shop.svc.cluster.local", ...spec });
    const selecting = { workloadSelector: { matchLabels: { version: "v1" } }, exportTo: ["."] };
    const subsets = [{ name: "v1", labels: { version: "v1" } }];
    const route = routeTo("shop/cart", ["cart.shop.svc.cluster.local"], {
      host: "cart.shop.svc.cluster.local",
      subset: "v1",
    });
    const reached = "outbound|80|v1|cart.shop.svc.cluster.local";
    const call = meshOf(route, subset("shop/a", selecting), subset("shop/b", { subsets }));
    expect(call("web.shop", http("cart"))).toBe(reached);
    expect(call("teller.bank", http("cart.shop"))).toBe(reached);
    const elsewhere = meshOf(route, subset("bank/a", selecting), subset("shop/b", { subsets }));
    expect(elsewhere("teller.bank", http("cart.shop"))).toBe(reached);
  });

  it("reaches the endpoints' cluster of exported entries only (istio#55714)", () => {
    const entry = (name: string, exportTo: readonly string[]): string =>
      object("ServiceEntry", `istio-system/${name}`, {
        hosts: ["partner.example.com"],
        exportTo,
        resolution: "STATIC",
        ports: [{ number: 8080, name: "http", protocol: "HTTP" }],
        endpoints: [{ address: "192.0.2.1" }],
      });
    const call = meshOf(entry("a", ["shop"]), entry("b", ["~"]));
    expect(call("web.shop", http("partner.example.com", 8080))).toBe("outbound|8080||partner.example.com");
    expect(call("teller.bank", http("partner.example.com", 8080))).toBe("PassthroughCluster");
  });

  it.each([
    ["one Secret", "cert", "cert"],
    ["a Secret each", "cert", "other"],
  ])("to a gateway reaches both of two Ingresses whose tls names no hosts, with %s (istio#54757)", (_, ...secrets) => {
    const ingress = (name: string, day: number, secretName: string | undefined): string =>
      object(
        "Ingress",
        `shop/${name}`,
        {
          tls: [{ secretName }],
          rules: [
            {
              host: `${name}.example.com`,
              http: {
                paths: [
                  { path: "/", pathType: "Prefix", backend: { service: { name: "cart", port: { number: 80 } } } },
                ],
              },
            },
          ],
        },
        {
          annotations: { "kubernetes.io/ingress.class": "istio" },
          creationTimestamp: `2025-01-0${day}T00:00:00Z`,
        },
      );
    const call = meshOf(ingress("one", 1, secrets[0]), ingress("two", 2, secrets[1]));
    for (const host of ["one.example.com", "two.example.com"]) {
      expect(call("gw.istio-system", http(host))).toBe(cart);
      expect(call("gw.istio-system", { ...http(host, 443), tls: "tls" })).toBe(cart);
    }
  });
});
