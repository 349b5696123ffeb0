import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import type { EnvoyClient } from "@istiod/xds-server/testing";
import { describe, expect, test } from "vitest";
import { Mesh, resource, variants } from "./mesh.js";
import { documents, istio, service, workloads } from "@istiod/config-schema/testing";

const reviews = documents(
  service("reviews.shop", "10.96.0.2"),
  workloads("reviews.shop", [
    { ip: "10.1.0.2", version: "v1" },
    { ip: "10.1.0.3", version: "v2" },
  ]),
);
const split = documents(
  istio(
    "VirtualService",
    "reviews",
    "shop",
    `
hosts: [reviews]
http:
- route:
  - {destination: {host: reviews, subset: v1}, weight: 90}
  - {destination: {host: reviews, subset: v2}, weight: 10}`,
  ),
  istio(
    "DestinationRule",
    "reviews",
    "shop",
    `
host: reviews
subsets: [{name: v1, labels: {version: v1}}, {name: v2, labels: {version: v2}}]`,
  ),
);
const files = {
  "web.yaml": documents(service("web.shop", "10.96.0.1"), workloads("web.shop", [{ ip: "10.1.0.1" }])),
  "reviews.yaml": reviews,
  "other.yaml": documents(
    service("bank.bank", "10.96.0.9", { port: 8443, portName: "tcp" }),
    workloads("bank.bank", [{ ip: "10.1.0.9" }], "tcp"),
  ),
  "split.yaml": split,
};

/** Clusters and weights of the route to a host. */
function weights(proxy: EnvoyClient, host: string): Record<string, number | undefined> {
  const hosts = resource(proxy, RouteConfigurationSchema, "80").virtualHosts;
  const action = hosts.find(({ domains }) => domains.includes(host))?.routes[0]?.action;
  if (action?.case !== "route") throw new Error(`${host} has no route`);
  const to = action.value.clusterSpecifier;
  if (to.case === "cluster") return { [to.value]: undefined };
  if (to.case !== "weightedClusters") throw new Error(`${host} is routed by ${to.case}`);
  return Object.fromEntries(to.value.clusters.map(({ name, weight }) => [name, weight]));
}

const host = "reviews.shop.svc.cluster.local";

describe.each(variants)("weights of a VirtualService, by %s", (variant) => {
  test("a changed weight is pushed to every proxy that has the route, as that route only", async () => {
    const mesh = await Mesh.start(variant, files);
    const web = await mesh.proxy("web.shop", "10.1.0.1");
    await mesh.proxy("bank.bank", "10.1.0.9");
    expect(weights(web, host)).toEqual({ [`outbound|80|v1|${host}`]: 90, [`outbound|80|v2|${host}`]: 10 });

    const received = await mesh.change("split.yaml", /weight: 90([^]*)weight: 10/, "weight: 50$1weight: 50");
    expect(received).toEqual({ "web.shop": { RDS: ["80"] }, "bank.bank": { RDS: ["80"] } });
    expect(weights(web, host)).toEqual({ [`outbound|80|v1|${host}`]: 50, [`outbound|80|v2|${host}`]: 50 });
  });

  test("a VirtualService that is not exported changes nothing for other namespaces", async () => {
    const mesh = await Mesh.start(variant, {
      ...files,
      "split.yaml": split.replace("hosts: [reviews]", "hosts: [reviews]\n  exportTo: [.]"),
    });
    const web = await mesh.proxy("web.shop", "10.1.0.1");
    const bank = await mesh.proxy("bank.bank", "10.1.0.9");
    expect(weights(bank, host)).toEqual({ [`outbound|80||${host}`]: undefined });

    expect(await mesh.change("split.yaml", /weight: 90([^]*)weight: 10/, "weight: 70$1weight: 30")).toEqual({
      "web.shop": { RDS: ["80"] },
    });
    expect(weights(web, host)).toEqual({ [`outbound|80|v1|${host}`]: 70, [`outbound|80|v2|${host}`]: 30 });
  });

  test("removing a VirtualService restores the default route of the service", async () => {
    const mesh = await Mesh.start(variant, {
      ...files,
      "split.yaml": split.split("---")[0] ?? "",
      "subsets.yaml": split.split("---")[1] ?? "",
    });
    const web = await mesh.proxy("web.shop", "10.1.0.1");
    expect(await mesh.edit({ "split.yaml": null })).toEqual({ "web.shop": { RDS: ["80"] } });
    expect(weights(web, host)).toEqual({ [`outbound|80||${host}`]: undefined });
  });

  test("an equal weight in another notation causes no push", async () => {
    const mesh = await Mesh.start(variant, files);
    await mesh.proxy("web.shop", "10.1.0.1");
    expect(await mesh.change("split.yaml", "weight: 90", "weight: 0x5A # nine of ten")).toEqual({});
  });
});
