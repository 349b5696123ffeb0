import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import type { EnvoyClient } from "@istiod/xds-server/testing";
import { describe, expect, test } from "vitest";
import { Mesh, resource, variants } from "./mesh.js";
import { documents, istio, service, workloads } from "@istiod/config-schema/testing";

const app = (host: string, at: number): string =>
  documents(service(host, `10.96.0.${at}`), workloads(host, [{ ip: `10.1.0.${at}` }]));
const gateway = istio(
  "Gateway",
  "shop",
  "shop",
  `
selector: {istio: ingress}
servers:
- port: {number: 443, protocol: HTTPS, name: https}
  hosts: [shop.example.com]
  tls: {mode: SIMPLE, credentialName: shop-cert}`,
);
const routes = (more = ""): string =>
  istio(
    "VirtualService",
    "shop",
    "shop",
    `
hosts: [shop.example.com]
gateways: [shop]
http:
${more}
- route: [{destination: {host: cart, port: {number: 80}}}]`,
  );
const files = {
  "web.yaml": app("web.shop", 1),
  "cart.yaml": app("cart.shop", 2),
  "gateway.yaml": gateway,
  "routes.yaml": routes(),
};
const edge = "ingress.istio-system";

async function start(
  variant: (typeof variants)[number],
  more: Readonly<Record<string, string>> = {},
): Promise<{ readonly mesh: Mesh; readonly ingress: EnvoyClient }> {
  const mesh = await Mesh.start(variant, { ...files, ...more });
  await mesh.proxy("web.shop", "10.1.0.1");
  return { mesh, ingress: await mesh.proxy(edge, "10.1.0.30", { type: "router", labels: { istio: "ingress" } }) };
}

/** The listener, as far as its names of secrets can be read in it. */
function listenerText(proxy: EnvoyClient, name: string): string {
  const listener = resource(proxy, ListenerSchema, name);
  return listener.filterChains
    .map(({ transportSocket }) =>
      transportSocket?.configType.case === "typedConfig"
        ? Buffer.from(transportSocket.configType.value.value).toString("latin1")
        : "plaintext",
    )
    .join("\n");
}

const routeName = "https.443.https.shop.shop";

describe.each(variants)("Gateway with TLS, by %s", (variant) => {
  test("a rule of its VirtualService changes the route of the gateway, and no sidecar", async () => {
    const { mesh, ingress } = await start(variant);
    expect(listenerText(ingress, "0.0.0.0_443")).toContain("kubernetes://shop-cert");
    const more = `- match: [{uri: {prefix: /old}}]
  redirect: {uri: /new}`;
    expect(await mesh.edit({ "routes.yaml": routes(more) })).toEqual({ [edge]: { RDS: [routeName] } });
  });

  test("another credential changes the listener, and no other resource", async () => {
    const { mesh, ingress } = await start(variant);
    expect(await mesh.change("gateway.yaml", "shop-cert", "new-cert")).toEqual({ [edge]: { LDS: ["0.0.0.0_443"] } });
    expect(listenerText(ingress, "0.0.0.0_443")).toContain("kubernetes://new-cert");
  });

  test("an added server adds a listener and its route; removing it removes both", async () => {
    const { mesh } = await start(variant);
    const admin = istio(
      "Gateway",
      "admin",
      "shop",
      `
selector: {istio: ingress}
servers:
- port: {number: 8080, protocol: HTTP, name: http}
  hosts: [admin.example.com]`,
    );
    const rule = istio(
      "VirtualService",
      "admin",
      "shop",
      `
hosts: [admin.example.com]
gateways: [admin]
http: [{route: [{destination: {host: web, port: {number: 80}}}]}]`,
    );
    expect(await mesh.edit({ "admin.yaml": documents(admin, rule) })).toEqual({
      [edge]: { LDS: ["0.0.0.0_8080"], RDS: ["http.8080"] },
    });
    expect(await mesh.edit({ "admin.yaml": null })).toMatchObject({ [edge]: { LDS: ["-0.0.0.0_8080"] } });
  });

  test("a Gateway for other workloads does not reach this one", async () => {
    const { mesh } = await start(variant);
    expect(
      await mesh.edit({
        "other.yaml": gateway.replace("istio: ingress", "istio: elsewhere").replace("name: shop,", "name: other,"),
      }),
    ).toEqual({});
  });
});
