import type { JsonObject } from "@bufbuild/protobuf";
import { query, type View } from "@istiod/incremental";
import { describe, expect, it } from "vitest";
import type { Proxy } from "../src/proxy/proxy.js";
import { listenerServices, listenerVirtualServices, outboundTraffic, scopeServices } from "../src/index.js";
import { scopeOf } from "../src/visibility/scope.js";
import { TestMesh as Mesh } from "./mesh.js";
import { kubernetesService, networking } from "./objects.js";

class TestMesh extends Mesh {
  sidecar(namespace: string, metadata: JsonObject = {}): View<Proxy> {
    return this.client({ namespace, metadata }).view;
  }

  router(namespace: string): View<Proxy> {
    return this.client({ type: "router", namespace }).view;
  }
}

const scope = query("test.scope", (q) => scopeOf(q));

/** Ids of the services of a client's first egress listener, with the ports where not all are imported. */
function imported(view: View<Proxy>, listener = 0): readonly string[] {
  return view
    .call(listenerServices, { scope: view.call(scope), listener })
    .map(({ service, ports }) => (ports === undefined ? service : `${service}:${ports.join()}`));
}

function inScope(view: View<Proxy>): readonly string[] {
  return view
    .call(scopeServices, view.call(scope))
    .map(({ service, ports }) => (ports === undefined ? service : `${service}:${ports.join()}`));
}

function routed(view: View<Proxy>, listener = 0): readonly string[] {
  return view.call(listenerVirtualServices, { scope: view.call(scope), listener });
}

const cart = "shop/cart.shop.svc.cluster.local";
const pay = "payments/pay.payments.svc.cluster.local";
const services = kubernetesService("shop", "cart", { age: 2 }) + kubernetesService("payments", "pay", { age: 1 });

describe("imports of a sidecar", () => {
  it("are all services, oldest first, if no Sidecar selects it", () => {
    const mesh = new TestMesh(services);
    expect(imported(mesh.sidecar("elsewhere"))).toEqual([cart, pay]);
    expect(mesh.sidecar("elsewhere").call(scope)).toEqual({});
  });

  it.each([
    ["one host of one namespace", "[shop/cart.shop.svc.cluster.local]", [cart]],
    ["all hosts of its own namespace", "[./*]", [cart]],
    ["a wildcard of all namespaces", "['*/*.payments.svc.cluster.local']", [pay]],
    ["all but an exclusion in all namespaces", "['*/*', '~/cart.shop.svc.cluster.local']", [pay]],
    ["all but an exclusion in one namespace", "['*/*', '~payments/*']", [cart]],
    ["nothing where exclusions take all", "['*/*', '~*/*']", []],
  ])("is %s", (_, hosts, expected) => {
    const mesh = new TestMesh(services + networking("Sidecar", "shop", "default", `{egress: [{hosts: ${hosts}}]}`));
    expect(imported(mesh.sidecar("shop"))).toEqual(expected);
  });

  it("are limited to the listener's port, for services with this port", () => {
    const mesh = new TestMesh(`${services}
apiVersion: v1
kind: Service
metadata: {name: two, namespace: shop}
spec: {clusterIP: 10.1.0.9, ports: [{name: http, port: 80}, {name: tcp, port: 9000}]}
---${networking("Sidecar", "shop", "default", "{egress: [{port: {number: 9000, protocol: TCP, name: tcp}, hosts: ['*/*']}, {hosts: [./cart.shop.svc.cluster.local]}]}")}`);
    expect(imported(mesh.sidecar("shop"))).toEqual(["shop/two.shop.svc.cluster.local:9000"]);
    expect(imported(mesh.sidecar("shop"), 1)).toEqual([cart]);
    expect(inScope(mesh.sidecar("shop"))).toEqual(["shop/two.shop.svc.cluster.local:9000", cart]);
  });

  it("include the destinations of its routes, with their ports", () => {
    const mesh = new TestMesh(
      services +
        networking("Sidecar", "shop", "default", "{egress: [{hosts: [./*]}]}") +
        networking(
          "VirtualService",
          "shop",
          "cart",
          "{hosts: [cart], http: [{route: [{destination: {host: pay.payments.svc.cluster.local, port: {number: 80}}}]}]}",
        ),
    );
    expect(imported(mesh.sidecar("shop"))).toEqual([cart]);
    expect(inScope(mesh.sidecar("shop"))).toEqual([cart, pay]);
  });
});

describe("destinations of routes", () => {
  const mesh = (...matches: readonly string[]): TestMesh =>
    new TestMesh(
      services +
        networking(
          "VirtualService",
          "shop",
          "cart",
          `{hosts: [cart], http: [{match: [${matches.join()}], route: [{destination: {host: pay.payments.svc.cluster.local}}]}]}`,
        ) +
        networking("Sidecar", "istio-system", "default", "{egress: [{hosts: [shop/*]}]}"),
    );
  const all = ["shop", "payments", "elsewhere"];

  it.for<{ why: string; matches: readonly string[]; of: readonly string[] }>([
    { why: "of no match", matches: [], of: all },
    { why: "of a match for one source namespace", matches: ["{sourceNamespace: shop}"], of: ["shop"] },
    {
      why: "of matches for two source namespaces",
      matches: ["{sourceNamespace: shop}", "{sourceNamespace: payments}"],
      of: ["shop", "payments"],
    },
    {
      why: "of a match for one source namespace and one for all",
      matches: ["{sourceNamespace: shop}", "{uri: {exact: /a}}"],
      of: all,
    },
    {
      why: "of a match for all and one for one source namespace",
      matches: ["{uri: {exact: /a}}", "{sourceNamespace: shop}"],
      of: all,
    },
  ])("$why are in the scope of clients that have the route", ({ matches, of }) => {
    const scoped = mesh(...matches);
    expect(all.filter((namespace) => inScope(scoped.sidecar(namespace)).includes(pay))).toEqual(of);
  });
});

describe("a Sidecar with namespaces in egress hosts", () => {
  it.each([
    ["by host", "[payments/pay.payments.svc.cluster.local]"],
    ["by wildcard", "[payments/*]"],
  ])("%s does not depend on services of others", (_, hosts) => {
    const mesh = new TestMesh(services + networking("Sidecar", "shop", "default", `{egress: [{hosts: ${hosts}}]}`));
    const view = mesh.sidecar("shop");
    expect(imported(view)).toEqual([pay]);
    mesh.apply(kubernetesService("elsewhere", "new"));
    const { recomputations } = mesh.db.stats();
    expect(imported(view)).toEqual([pay]);
    expect(mesh.db.stats().recomputations - recomputations).toBeLessThan(20);
    mesh.apply(kubernetesService("payments", "more"));
    expect(imported(view)).toHaveLength(hosts.includes("*") ? 2 : 1);
  });
});

describe("the Sidecar that applies", () => {
  const egress = (hosts: string): string => `egress: [{hosts: [${hosts}]}]`;
  const mesh = new TestMesh(
    services +
      networking("Sidecar", "shop", "selecting", `{workloadSelector: {labels: {app: web}}, ${egress("payments/*")}}`) +
      networking("Sidecar", "shop", "older", `{${egress("shop/*")}}`, { age: 2 }) +
      networking("Sidecar", "shop", "newer", `{${egress("'~/*'")}}`, { age: 1 }) +
      networking("Sidecar", "istio-system", "root", `{${egress("./*")}, outboundTrafficPolicy: {mode: REGISTRY_ONLY}}`),
  );

  it.each([
    ["the one whose selector matches", "shop", { LABELS: { app: "web" } }, [pay]],
    ["else the oldest without a selector", "shop", {}, [cart]],
    ["else the root namespace's, relative to the client's namespace", "payments", {}, [pay]],
  ])("is %s", (_, namespace, metadata, expected) => {
    expect(imported(mesh.sidecar(namespace, metadata))).toEqual(expected);
  });

  it("is none for a gateway", () => {
    expect(inScope(mesh.router("payments"))).toEqual([cart, pay]);
  });

  it("sets the outbound traffic policy, else the mesh does", () => {
    const policy = (view: View<Proxy>): string => view.call(outboundTraffic, view.call(scope)).mode;
    expect(policy(mesh.sidecar("payments"))).toBe("REGISTRY_ONLY");
    expect(policy(mesh.sidecar("shop"))).toBe("ALLOW_ANY");
  });
});

describe("exportTo", () => {
  it.each([
    ["*", ["shop", "payments", "elsewhere"]],
    [".", ["shop"]],
    ["payments", ["payments"]],
    [".,payments", ["shop", "payments"]],
    ["~", []],
  ])("%s of a service lets it be seen from %j", (exportTo, namespaces) => {
    const mesh = new TestMesh(
      kubernetesService("shop", "cart", { annotations: `{networking.istio.io/exportTo: "${exportTo}"}` }),
    );
    expect(
      ["shop", "payments", "elsewhere"].filter((namespace) => imported(mesh.sidecar(namespace)).length > 0),
    ).toEqual(namespaces);
  });

  it("of a VirtualService determines its visibility, with the namespace's own first", () => {
    const route =
      "hosts: [cart.shop.svc.cluster.local], http: [{route: [{destination: {host: cart.shop.svc.cluster.local}}]}]";
    const mesh = new TestMesh(
      services +
        networking("VirtualService", "shop", "public", `{${route}}`, { age: 3 }) +
        networking("VirtualService", "shop", "given", `{${route}, exportTo: [payments]}`, { age: 2 }) +
        networking("VirtualService", "payments", "own", `{${route}, exportTo: [.]}`, { age: 1 }),
    );
    expect(routed(mesh.sidecar("payments"))).toEqual(["payments/own", "shop/given", "shop/public"]);
    expect(routed(mesh.sidecar("elsewhere"))).toEqual(["shop/public"]);
  });

  it("defaults to that of the mesh", () => {
    const mesh = new TestMesh(services, { defaultServiceExportTo: ["."] });
    expect(imported(mesh.sidecar("shop"))).toEqual([cart]);
  });
});

describe("a host that several namespaces declare", () => {
  const entry = (namespace: string, age: number): string =>
    networking(
      "ServiceEntry",
      namespace,
      "api",
      "{hosts: [api.example.com], ports: [{number: 80, name: http, protocol: HTTP}], resolution: STATIC, endpoints: [{address: 10.3.0.1}]}",
      { age },
    );
  const mesh = new TestMesh(entry("one", 1) + entry("two", 3) + entry("three", 2));

  it("is the client's own, else the oldest", () => {
    expect(imported(mesh.sidecar("one"))).toEqual(["one/api.example.com"]);
    expect(imported(mesh.sidecar("elsewhere"))).toEqual(["two/api.example.com"]);
  });

  it("is the Kubernetes Service's rather than an older ServiceEntry's", () => {
    const squatted = new TestMesh(
      kubernetesService("shop", "cart", { age: 1 }) +
        networking(
          "ServiceEntry",
          "squatter",
          "cart",
          "{hosts: [cart.shop.svc.cluster.local], ports: [{number: 80, name: http, protocol: HTTP}], resolution: DNS}",
          { age: 9 },
        ),
    );
    expect(imported(squatted.sidecar("elsewhere"))).toEqual([cart]);
  });
});

describe("classes of clients", () => {
  it("are shared by namespaces that make no difference, and only by these", () => {
    const mesh = new TestMesh(
      services + kubernetesService("hidden", "own", { annotations: "{networking.istio.io/exportTo: .}" }),
    );
    const [a, b, c] = [mesh.sidecar("first"), mesh.sidecar("second"), mesh.sidecar("hidden")];
    const list = (view: View<Proxy>) => view.call(scopeServices, view.call(scope));
    expect(list(a)).toBe(list(b));
    expect(list(c)).not.toBe(list(a));
    expect(c.call(scope)).toEqual({ namespace: "hidden" });
  });

  it("are not affected by a changed route", () => {
    const route = (weight: number): string =>
      networking(
        "VirtualService",
        "shop",
        "cart",
        `{hosts: [cart], http: [{route: [{destination: {host: cart}, weight: ${weight}}, {destination: {host: pay.payments.svc.cluster.local}, weight: ${100 - weight}}]}]}`,
      );
    const mesh = new TestMesh(services + route(90));
    const view = mesh.sidecar("elsewhere");
    const before = view.call(scopeServices, view.call(scope));
    const { recomputations } = mesh.db.stats();
    mesh.apply(route(80));
    expect(view.call(scopeServices, view.call(scope))).toBe(before);
    expect(mesh.db.stats().recomputations - recomputations).toBeLessThan(8);
  });
});
