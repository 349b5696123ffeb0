import { MemoryMeter } from "@istiod/metrics/testing";
import { environment } from "@istiod/config-schema";
import { describe, expect, it } from "vitest";
import { modelMetrics, omittedParts, patchStatuses } from "../src/index.js";
import { meshOf, object, proxy, service, why } from "./mesh.js";

const filter = (configPatches: readonly object[], more: object = {}): string =>
  object("EnvoyFilter", "a", { configPatches, ...more } as never).replace('/v1"', '/v1alpha3"');
const merge = (value: object, match: object = {}): object => ({
  applyTo: "CLUSTER",
  match,
  patch: { operation: "MERGE", value },
});
const cart = "outbound|80||cart.shop.svc.cluster.local";
const ofCart = { cluster: { service: "cart.shop.svc.cluster.local" } };
const wrongSocket = {
  transport_socket: {
    name: "envoy.transport_sockets.tls",
    typed_config: { "@type": "type.googleapis.com/envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer" },
  },
};

describe("a patched resource is explained", () => {
  it("with the object that it is generated from, and the fields of the patch that change it", () => {
    const db = meshOf(service("cart") + filter([merge({}), merge({ alt_stat_name: "x" }, ofCart)]));
    const { objects } = why(db, proxy(), "cds", cart, 1000);
    const effects = Object.fromEntries(objects.map(({ kind, effect }) => [kind, effect?.fields]));
    expect(Object.keys(effects)).toEqual(expect.arrayContaining(["Service", "EnvoyFilter"]));
    expect(effects["EnvoyFilter"]).toContain("spec.configPatches[1].patch.value.alt_stat_name");
    expect(effects["EnvoyFilter"]?.some((field) => field.startsWith("spec.configPatches[0]"))).toBe(false);
    expect(effects["Service"]).not.toEqual([]);
  });

  it("and one that no patch matches without the EnvoyFilter's effect", () => {
    const db = meshOf(service("cart") + service("list") + filter([merge({ alt_stat_name: "x" }, ofCart)]));
    const { objects } = why(db, proxy(), "cds", "outbound|80||list.shop.svc.cluster.local", 1000);
    expect(objects.find(({ kind }) => kind === "EnvoyFilter")?.effect?.changesResource ?? false).toBe(false);
  });
});

describe("the results of patches", () => {
  const patches = [merge({ alt_stat_name: "x" }, ofCart), merge({}, { cluster: { name: "none" } }), merge(wrongSocket)];
  const clientsOf = (yaml: string) => {
    const db = meshOf(yaml);
    const proxies = [proxy(), proxy("sidecar", "other"), proxy("sidecar", "shop", { app: "web" })];
    return { db, clients: proxies.map((each) => ({ proxy: each, view: db.view(each) })) };
  };
  const socket = object("DestinationRule", "cart", {
    host: "cart",
    trafficPolicy: { tls: { mode: "SIMPLE", sni: "a", caCertificates: "system" } },
  });

  it("tell how many resources of how many proxies have the patch", () => {
    const { clients } = clientsOf(service("cart") + filter(patches.slice(0, 2)));
    expect(patchStatuses(clients)).toMatchObject([
      { filter: "shop/a", index: 0, selected: 2, proxies: 2, resources: 2, failures: [] },
      { filter: "shop/a", index: 1, selected: 2, proxies: 0, resources: 0, failures: [] },
    ]);
  });

  it("name a patch that matches nothing, and one that is skipped with the reason", () => {
    const { clients } = clientsOf(
      service("cart") + socket + filter([...patches.slice(0, 2), merge(wrongSocket, ofCart)]),
    );
    expect(omittedParts(clients)).toMatchObject([
      {
        field: "spec.configPatches[2]",
        reason:
          "spec.configPatches[2] is skipped: typed_config is envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer, expected envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext as in the configuration",
        proxies: 2,
      },
      {
        kind: "EnvoyFilter",
        namespace: "shop",
        name: "a",
        field: "spec.configPatches[1]",
        reason: "spec.configPatches[1] matches no resource",
        proxies: 2,
      },
    ]);
  });

  it("are counted in Istio's metric if they are to be", () => {
    const { db, clients } = clientsOf(
      service("cart") + socket + filter([merge(wrongSocket, ofCart), merge({}, { cluster: { name: "none" } })]),
    );
    const meter = new MemoryMeter();
    modelMetrics(meter, { database: db, clients: () => clients, ownCluster: "Kubernetes", remoteClusters: () => [] });
    const value = (result: string) =>
      meter.value("pilot_envoy_filter_status", { name: "shop/a", patch: "cluster", result });
    expect(value("error")).toBeUndefined();
    db.commit((tx) => tx.set(environment, "PILOT_ENVOY_FILTER_STATS", "true"));
    expect([value("applied"), value("error")]).toEqual([0, 1]);
  });
});
