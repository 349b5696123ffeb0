import { HealthStatus } from "@istiod/envoy-api/envoy/config/core/v3/health_check";
import { ClusterLoadAssignmentSchema } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint";
import type { EnvoyClient } from "@istiod/xds-server/testing";
import { describe, expect, test } from "vitest";
import { endpointAddresses, Mesh, resource, variants } from "./mesh.js";
import { documents, istio, service, workloads } from "@istiod/config-schema/testing";

const cart = "outbound|80||cart.shop.svc.cluster.local";
const cartPods = [{ ip: "10.1.0.2" }, { ip: "10.1.0.3", version: "v2" }];
const files = {
  "web.yaml": documents(service("web.shop", "10.96.0.1"), workloads("web.shop", [{ ip: "10.1.0.1" }])),
  "cart.yaml": service("cart.shop", "10.96.0.2"),
  "cart-pods.yaml": workloads("cart.shop", cartPods),
  "bank.yaml": documents(service("bank.bank", "10.96.0.9"), workloads("bank.bank", [{ ip: "10.1.0.9" }])),
};

async function start(
  variant: (typeof variants)[number],
  more: Readonly<Record<string, string>> = {},
): Promise<{ readonly mesh: Mesh; readonly web: EnvoyClient }> {
  const mesh = await Mesh.start(variant, { ...files, ...more });
  const web = await mesh.proxy("web.shop", "10.1.0.1");
  await mesh.proxy("bank.bank", "10.1.0.9");
  return { mesh, web };
}

function health(proxy: EnvoyClient, name: string): Record<string, string> {
  const found = resource(proxy, ClusterLoadAssignmentSchema, name).endpoints.flatMap(({ lbEndpoints }) => lbEndpoints);
  const states = found.map(({ healthStatus }) => HealthStatus[healthStatus] ?? "");
  return Object.fromEntries(endpointAddresses(proxy, name).map((address, at) => [address, states[at] ?? ""]));
}

describe.each(variants)("endpoints, by %s", (variant) => {
  test("an added pod is pushed to all of its clients, as one load assignment", async () => {
    const { mesh, web } = await start(variant);
    const received = await mesh.edit({
      "cart-pods.yaml": workloads("cart.shop", [...cartPods, { ip: "10.1.0.4", version: "v3" }]),
    });
    expect(received).toEqual({ "web.shop": { EDS: [cart] }, "bank.bank": { EDS: [cart] } });
    expect(endpointAddresses(web, cart)).toEqual(["10.1.0.2:8080", "10.1.0.3:8080", "10.1.0.4:8080"]);
  });

  test("an unready pod is sent as unhealthy, and as healthy once it is ready", async () => {
    const { mesh, web } = await start(variant);
    const unready = workloads("cart.shop", [{ ip: "10.1.0.2", ready: false }, cartPods[1] ?? { ip: "" }]);
    expect(await mesh.edit({ "cart-pods.yaml": unready })).toEqual({
      "web.shop": { EDS: [cart] },
      "bank.bank": { EDS: [cart] },
    });
    expect(health(web, cart)).toEqual({ "10.1.0.2:8080": "UNHEALTHY", "10.1.0.3:8080": "HEALTHY" });
    expect(await mesh.edit({ "cart-pods.yaml": workloads("cart.shop", cartPods) })).toEqual({
      "web.shop": { EDS: [cart] },
      "bank.bank": { EDS: [cart] },
    });
    expect(health(web, cart)).toEqual({ "10.1.0.2:8080": "HEALTHY", "10.1.0.3:8080": "HEALTHY" });
  });

  test("removing the last pod leaves a cluster without endpoints and without expected identities", async () => {
    const { mesh, web } = await start(variant);
    expect(await mesh.edit({ "cart-pods.yaml": null })).toEqual({
      "web.shop": { CDS: [cart], EDS: [cart] },
      "bank.bank": { CDS: [cart], EDS: [cart] },
    });
    expect(endpointAddresses(web, cart)).toEqual([]);
  });
});

describe.each(variants)("edits that affect no proxy, by %s", (variant) => {
  test.each([
    [
      "a label and an annotation of a Service",
      "cart.yaml",
      "labels: {}, annotations: {}",
      "labels: {team: a}, annotations: {note: b}",
    ],
    [
      "a resourceVersion and managed fields",
      "cart.yaml",
      "namespace: shop,",
      "namespace: shop, resourceVersion: '7', managedFields: [{manager: x}],",
    ],
    [
      "an annotation of a Pod",
      "cart-pods.yaml",
      "name: cart-v1, namespace: shop,",
      "name: cart-v1, namespace: shop, annotations: {note: b},",
    ],
    ["a comment and an empty document", "web.yaml", "apiVersion: v1", "# a shop\n---\napiVersion: v1"],
  ])("%s: nobody is sent anything", async (_, file, from, to) => {
    const { mesh } = await start(variant);
    expect(await mesh.change(file, from, to)).toEqual({});
  });

  test("moving a file causes no push", async () => {
    const { mesh } = await start(variant);
    expect(await mesh.edit({ "sub/dir/cart.yml": service("cart.shop", "10.96.0.2"), "cart.yaml": null })).toEqual({});
  });
});

const payments = (exportTo = ""): string =>
  istio(
    "ServiceEntry",
    "payments",
    "shop",
    `
hosts: [payments.example.com]
${exportTo}
location: MESH_EXTERNAL
ports: [{number: 80, name: http, protocol: HTTP}]
resolution: STATIC
endpoints: [{address: 192.0.2.1}]`,
  );
const external = "outbound|80||payments.example.com";

describe.each(variants)("ServiceEntry, by %s", (variant) => {
  test("adds a cluster, endpoints and a route; a changed address changes only the endpoints", async () => {
    const { mesh, web } = await start(variant);
    const everything = { CDS: [external], EDS: [external], RDS: ["80"] };
    expect(await mesh.edit({ "payments.yaml": payments() })).toEqual({
      "web.shop": everything,
      "bank.bank": everything,
    });
    expect(await mesh.change("payments.yaml", "192.0.2.1", "192.0.2.7")).toEqual({
      "web.shop": { EDS: [external] },
      "bank.bank": { EDS: [external] },
    });
    expect(endpointAddresses(web, external)).toEqual(["192.0.2.7:80"]);
    const gone = { CDS: [`-${external}`], RDS: ["80"] };
    const received = await mesh.edit({ "payments.yaml": null });
    expect(received).toMatchObject({ "web.shop": gone, "bank.bank": gone });
  });

  test("with exportTo reaches one namespace only", async () => {
    const { mesh } = await start(variant);
    expect(await mesh.edit({ "payments.yaml": payments("exportTo: [.]") })).toEqual({
      "web.shop": { CDS: [external], EDS: [external], RDS: ["80"] },
    });
  });

  test("selects pods and WorkloadEntries by their current labels", async () => {
    const entry = istio(
      "ServiceEntry",
      "legacy",
      "shop",
      `
hosts: [legacy.example.com]
location: MESH_INTERNAL
ports: [{number: 80, name: http, protocol: HTTP, targetPort: 8080}]
resolution: STATIC
workloadSelector: {labels: {app: cart}}`,
    );
    const legacy = "outbound|80||legacy.example.com";
    const { mesh, web } = await start(variant, { "legacy.yaml": entry });
    expect(endpointAddresses(web, legacy)).toEqual(["10.1.0.2:8080", "10.1.0.3:8080"]);
    const vm = istio(
      "WorkloadEntry",
      "vm",
      "shop",
      `
address: 10.1.0.77
labels: {app: cart}`,
    );
    const received = await mesh.edit({ "vm.yaml": vm });
    expect(Object.keys(received["web.shop"] ?? {})).toEqual(["EDS"]);
    expect(received["web.shop"]?.["EDS"]).toContain(legacy);
    expect(endpointAddresses(web, legacy)).toContain("10.1.0.77:8080");
    expect(endpointAddresses(web, cart)).toContain("10.1.0.77:8080");
  });
});
