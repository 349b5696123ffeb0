import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { clusterType, listenerType, routeType, type Variant } from "@istiod/xds-server";
import { describe, expect, test } from "vitest";
import { held, Mesh, resource, variants } from "./mesh.js";
import { documents, istio, service, workloads } from "@istiod/config-schema/testing";

const app = (host: string, at: number): string =>
  documents(service(host, `10.96.0.${at}`), workloads(host, [{ ip: `10.1.0.${at}` }]));
const timeout = (seconds: string): string =>
  istio(
    "VirtualService",
    "cart",
    "shop",
    `
hosts: [cart]
http:
- timeout: ${seconds}
  route: [{destination: {host: cart}}]`,
  );
const files = {
  "web.yaml": app("web.shop", 1),
  "cart.yaml": app("cart.shop", 2),
  "timeout.yaml": timeout("3s"),
};

function cartTimeout(proxy: Parameters<typeof held>[0]): number | undefined {
  const host = resource(proxy, RouteConfigurationSchema, "80").virtualHosts.find(({ domains }) =>
    domains.includes("cart.shop.svc.cluster.local"),
  );
  const action = host?.routes[0]?.action;
  return action?.case === "route" ? Number(action.value.timeout?.seconds) : undefined;
}

describe.each(variants)("invalid documents, by %s", (variant) => {
  test("an invalid edit keeps the last good version active and is reported by file, line, object and field, until it is fixed", async () => {
    const mesh = await Mesh.start(variant, files);
    const web = await mesh.proxy("web.shop", "10.1.0.1");
    expect(await mesh.change("timeout.yaml", "3s", "soon")).toEqual({});
    expect(cartTimeout(web)).toBe(3);
    expect(mesh.complaints).toEqual([expect.stringMatching(/timeout\.yaml:\d+: VirtualService shop\/cart: .*timeout/)]);
    expect(await mesh.change("timeout.yaml", "soon", "5s")).toEqual({ "web.shop": { RDS: ["80"] } });
    expect(cartTimeout(web)).toBe(5);
  });

  test("an invalid document is rejected alone: other documents of the edit and of the file take effect", async () => {
    const mesh = await Mesh.start(variant, files);
    const web = await mesh.proxy("web.shop", "10.1.0.1");
    const broken = istio("VirtualService", "web", "shop", "hosts: 7");
    const pay = app("pay.shop", 5);
    const received = await mesh.edit({ "timeout.yaml": documents(broken, timeout("9s"), pay) });
    const cluster = "outbound|80||pay.shop.svc.cluster.local";
    expect(received).toEqual({ "web.shop": { CDS: [cluster], EDS: [cluster], RDS: ["80"] } });
    expect(cartTimeout(web)).toBe(9);
    expect(mesh.complaints).toEqual([expect.stringMatching(/timeout\.yaml:\d+: VirtualService shop\/web: hosts/)]);
  });

  test("a file that becomes invalid YAML removes nothing", async () => {
    const mesh = await Mesh.start(variant, files);
    const web = await mesh.proxy("web.shop", "10.1.0.1");
    expect(await mesh.edit({ "cart.yaml": "kind: [Service\n  name: }{" })).toEqual({});
    expect([...web.resources(clusterType).keys()]).toContain("outbound|80||cart.shop.svc.cluster.local");
    expect(mesh.complaints.join("\n")).toMatch(/cart\.yaml/);
  });
});

describe.each(variants)("mesh configuration, by %s", (variant) => {
  test("a changed outbound policy reaches every sidecar, without unchanged resources", async () => {
    const mesh = await Mesh.start(variant, { ...files, "../mesh.yaml": "outboundTrafficPolicy: {mode: ALLOW_ANY}\n" });
    const web = await mesh.proxy("web.shop", "10.1.0.1");
    await mesh.proxy("cart.shop", "10.1.0.2");
    const outbound = (): string =>
      Buffer.from(web.resources(listenerType).get("virtualOutbound")?.bytes ?? []).toString("latin1");
    expect(outbound()).toContain("PassthroughCluster");
    const received = await mesh.edit({ "../mesh.yaml": "outboundTrafficPolicy: {mode: REGISTRY_ONLY}\n" });
    expect(Object.keys(received).sort()).toEqual(["cart.shop", "web.shop"]);
    for (const types of Object.values(received))
      expect(types).toEqual({ LDS: ["0.0.0.0_80", "virtualOutbound"], RDS: ["80"] });
    expect(outbound()).toContain("BlackHoleCluster");
  });

  test("a setting that affects no proxy, or equals its default, causes no push", async () => {
    const mesh = await Mesh.start(variant, { ...files, "../mesh.yaml": "ingressClass: istio\n" });
    await mesh.proxy("web.shop", "10.1.0.1");
    expect(await mesh.edit({ "../mesh.yaml": "ingressClass: other\n" })).toEqual({});
    expect(await mesh.edit({ "../mesh.yaml": "ingressClass: other\nenableAutoMtls: true\n" })).toEqual({});
  });

  test("that is invalid is reported, and the last good version stays active", async () => {
    const mesh = await Mesh.start(variant, {
      ...files,
      "../mesh.yaml": "outboundTrafficPolicy: {mode: REGISTRY_ONLY}\n",
    });
    await mesh.proxy("web.shop", "10.1.0.1");
    expect(await mesh.edit({ "../mesh.yaml": "outboundTrafficPolicy: {mode: SOMETIMES}\n" })).toEqual({});
    expect(mesh.complaints.join("\n")).toMatch(/mesh\.yaml.*outboundTrafficPolicy/);
  });
});

describe("a reconnecting proxy", () => {
  test("receives nothing by delta if it is up to date, also from another istiod with the same files", async () => {
    const mesh = await Mesh.start("delta", files);
    const web = await mesh.proxy("web.shop", "10.1.0.1");
    const before = held(web);
    const nothing = (received: Awaited<ReturnType<Mesh["received"]>>): unknown =>
      Object.values(received["web.shop"] ?? {}).flat();
    expect(nothing(await mesh.received(() => web.reconnect()))).toEqual([]);
    await mesh.restart();
    expect(nothing(await mesh.received(() => web.reconnect(mesh.address)))).toEqual([]);
    expect(held(web)).toEqual(before);
  });

  test("receives by delta a change that it missed, and nothing else", async () => {
    const mesh = await Mesh.start("delta", files);
    const web = await mesh.proxy("web.shop", "10.1.0.1");
    await mesh.stop();
    await mesh.write({ "timeout.yaml": timeout("7s") });
    await mesh.run();
    const received = await mesh.received(() => web.reconnect(mesh.address));
    expect(Object.entries(received["web.shop"] ?? {}).filter(([, names]) => names.length > 0)).toEqual([
      ["RDS", ["80"]],
    ]);
    expect(cartTimeout(web)).toBe(7);
  });

  test("receives by state of the world the same bytes as before", async () => {
    const mesh = await Mesh.start("sotw", files);
    const web = await mesh.proxy("web.shop", "10.1.0.1");
    const before = held(web);
    await mesh.restart();
    await mesh.received(() => web.reconnect(mesh.address));
    expect(held(web)).toEqual(before);
  });
});

test.each<Variant>(["delta", "sotw"])(
  "a proxy that rejects a change keeps its resources and receives the next change; others receive both (%s)",
  async (variant) => {
    const mesh = await Mesh.start(variant, files);
    let rejects = false;
    const web = await mesh.proxy("web.shop", "10.1.0.1", {
      reject: ({ typeUrl }) => (rejects && typeUrl === routeType ? "no such thing" : undefined),
    });
    const cart = await mesh.proxy("cart.shop", "10.1.0.2");
    rejects = true;
    await mesh.edit({ "timeout.yaml": timeout("4s") });
    expect([web, cart].map(cartTimeout)).toEqual([3, 4]);
    expect(mesh.complaints.join("\n")).toContain("no such thing");
    rejects = false;
    await mesh.edit({ "timeout.yaml": timeout("5s") });
    expect([web, cart].map(cartTimeout)).toEqual([5, 5]);
    expect(web.resources(listenerType).size).toBeGreaterThan(0);
  },
);
