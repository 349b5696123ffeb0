import { ClusterSchema, Cluster_LbPolicy } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { describe, expect, test } from "vitest";
import { endpointAddresses, Mesh, resource, variants } from "./mesh.js";
import { documents, istio, service, workloads } from "@istiod/config-schema/testing";

const host = "reviews.shop.svc.cluster.local";
const rule = istio(
  "DestinationRule",
  "reviews",
  "shop",
  `
host: reviews
trafficPolicy: {loadBalancer: {simple: LEAST_REQUEST}}
subsets: [{name: v1, labels: {version: v1}}, {name: v2, labels: {version: v2}}]`,
);
const files = {
  "web.yaml": documents(service("web.shop", "10.96.0.1"), workloads("web.shop", [{ ip: "10.1.0.1" }])),
  "reviews.yaml": documents(
    service("reviews.shop", "10.96.0.2"),
    workloads("reviews.shop", [{ ip: "10.1.0.2" }, { ip: "10.1.0.3", version: "v2" }]),
  ),
  "bank.yaml": documents(service("bank.bank", "10.96.0.9"), workloads("bank.bank", [{ ip: "10.1.0.9" }])),
  "rule.yaml": rule,
};

describe.each(variants)("DestinationRule, by %s", (variant) => {
  test("a new subset adds a cluster with its endpoints, and nothing else", async () => {
    const mesh = await Mesh.start(variant, files);
    const web = await mesh.proxy("web.shop", "10.1.0.1");
    expect(endpointAddresses(web, `outbound|80|v1|${host}`)).toEqual(["10.1.0.2:8080"]);
    const received = await mesh.change(
      "rule.yaml",
      "{name: v2, labels: {version: v2}}",
      "{name: v2, labels: {version: v2}}, {name: all}",
    );
    const added = `outbound|80|all|${host}`;
    expect(received).toEqual({ "web.shop": { CDS: [added], EDS: [added] } });
    expect(endpointAddresses(web, added)).toEqual(["10.1.0.2:8080", "10.1.0.3:8080"]);
  });

  test("a removed subset removes its cluster", async () => {
    const mesh = await Mesh.start(variant, files);
    const web = await mesh.proxy("web.shop", "10.1.0.1");
    const received = await mesh.change("rule.yaml", ", {name: v2, labels: {version: v2}}", "");
    expect(received["web.shop"]?.["CDS"]).toEqual([`-outbound|80|v2|${host}`]);
    expect(Object.keys(received["web.shop"] ?? {}).filter((type) => type === "LDS" || type === "RDS")).toEqual([]);
    expect([
      ...web.resources("type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment").keys(),
    ]).not.toContain(`outbound|80|v2|${host}`);
  });

  test("a changed policy resends the endpoints of changed clusters, for which Envoy waits", async () => {
    const mesh = await Mesh.start(variant, files);
    const web = await mesh.proxy("web.shop", "10.1.0.1");
    const names = ["v1", "v2", ""].map((subset) => `outbound|80|${subset}|${host}`);
    expect(await mesh.change("rule.yaml", "LEAST_REQUEST", "RANDOM")).toEqual({
      "web.shop": { CDS: names, EDS: names },
    });
    expect(resource(web, ClusterSchema, `outbound|80||${host}`).lbPolicy).toBe(Cluster_LbPolicy.RANDOM);
    expect([...web.warming]).toEqual([]);
  });

  test("a rule in another namespace for this host affects only clients in that namespace", async () => {
    const mesh = await Mesh.start(variant, files);
    await mesh.proxy("web.shop", "10.1.0.1");
    await mesh.proxy("bank.bank", "10.1.0.9");
    const theirs = istio(
      "DestinationRule",
      "theirs",
      "bank",
      `
host: ${host}
exportTo: [.]
trafficPolicy: {loadBalancer: {simple: RANDOM}}`,
    );
    const received = await mesh.edit({ "theirs.yaml": theirs });
    expect(Object.keys(received)).toEqual(["bank.bank"]);
    expect(Object.keys(received["bank.bank"] ?? {})).toEqual(["CDS", "EDS"]);
    expect(received["bank.bank"]?.["CDS"]).toContain(`outbound|80||${host}`);
  });
});
