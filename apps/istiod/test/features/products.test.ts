import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { describe, expect, test } from "vitest";
import { Mesh, resource, variants } from "./mesh.js";
import { istio, service } from "@istiod/config-schema/testing";

const list = (count: number, item: (index: number) => string): string =>
  Array.from({ length: count }, (_, i) => item(i)).join(", ");

const virtualService = (hosts: number, routes: number): string =>
  istio(
    "VirtualService",
    "many",
    "shop",
    `
hosts: [${list(hosts, (i) => `h${i}.example.com`)}]
http: [${list(routes, (i) => `{match: [{uri: {exact: /${i}}}], route: [{destination: {host: cart}}]}`)}]
`,
  );

describe.each(variants)("an object whose lists multiply to more than proxies hold, by %s", (variant) => {
  test("is rejected with the numbers, and its last good version stays", { timeout: 60_000 }, async () => {
    const mesh = await Mesh.start(variant, {
      "cart.yaml": service("cart.shop", "10.1.0.1"),
      "many.yaml": virtualService(2, 3),
    });
    const web = await mesh.proxy("web.shop", "10.0.9.9");
    const routes = (): number | undefined =>
      resource(web, RouteConfigurationSchema, "80").virtualHosts.find(({ name }) => name === "h0.example.com:80")
        ?.routes.length;
    expect(routes()).toBe(3);
    await mesh.edit({ "many.yaml": virtualService(1000, 1000), "pay.yaml": service("pay.shop", "10.1.0.2") });
    expect(routes()).toBe(3);
    expect(web.resources("type.googleapis.com/envoy.config.cluster.v3.Cluster").size).toBeGreaterThan(0);
    expect(mesh.complaints.join()).toContain(
      "http: multiplies to 1000 hosts × 1000 matches of http routes = 1000000 routes in proxies, expected at most 50000 (raise ISTIOD_MAX_ROUTES_OF_VIRTUAL_SERVICE)",
    );
  });
});
