import { describe, expect, test } from "vitest";
import { destinationRule, serviceYaml } from "../mesh-yaml.js";
import { TestMesh, type TestProxy } from "../mesh.js";
import { cartCluster, endpointType, summary, workloadYaml } from "./endpoint-yaml.js";

const HOST = "cart.shop.svc.cluster.local";
const cart = (proxy: TestProxy): readonly string[] => summary(proxy.json(endpointType, cartCluster()));

/** Endpoints in three zones of two regions. */
function mesh(service = serviceYaml("cart")): TestMesh {
  return new TestMesh(service)
    .apply(workloadYaml("cart", "10.1.0.1", { zone: "eu.a" }))
    .apply(workloadYaml("cart", "10.1.0.2", { zone: "eu.b" }))
    .apply(workloadYaml("cart", "10.1.0.3", { zone: "us.a" }));
}

const inZone = (of: TestMesh, region: string, zone: string, labels = {}): TestProxy =>
  of.proxy({ locality: { region, zone, subzone: "" }, ip: `10.2.${zone.charCodeAt(0)}.1`, labels });

const lb = (loadBalancer: object, more: object = { outlierDetection: {} }): string =>
  destinationRule(HOST, { trafficPolicy: { loadBalancer, ...more } });

describe("endpoints by locality", () => {
  test("are the same for clients in all localities, until a setting applies", () => {
    const shop = mesh();
    const [near, far] = [inZone(shop, "eu", "a"), inZone(shop, "us", "b")];
    expect(cart(near)).toEqual([
      "eu/a p0 w1: 10.1.0.1:8080*1",
      "eu/b p0 w1: 10.1.0.2:8080*1",
      "us/a p0 w1: 10.1.0.3:8080*1",
    ]);
    expect(near.resource(endpointType, cartCluster())).toBe(far.resource(endpointType, cartCluster()));
    shop.apply(destinationRule(HOST, { trafficPolicy: { outlierDetection: {} } }));
    expect(near.resource(endpointType, cartCluster())).not.toBe(far.resource(endpointType, cartCluster()));
  });

  test("fail over from zone to region to the rest, with outlier detection", () => {
    const shop = mesh().apply(destinationRule(HOST, { trafficPolicy: { outlierDetection: {} } }));
    expect(cart(inZone(shop, "eu", "b"))).toEqual([
      "eu/a p1 w1: 10.1.0.1:8080*1",
      "eu/b p0 w1: 10.1.0.2:8080*1",
      "us/a p2 w1: 10.1.0.3:8080*1",
    ]);
    shop.configure({ localityLbSetting: { enabled: false } });
    expect(cart(inZone(shop, "eu", "b"))[0]).toContain("p0");
  });

  test("fail over to the configured region first", () => {
    const shop = mesh().apply(workloadYaml("cart", "10.1.0.4", { zone: "asia.a" }));
    shop.apply(lb({ localityLbSetting: { failover: [{ from: "eu", to: "us" }] } }));
    expect(cart(inZone(shop, "eu", "a"))).toEqual([
      "asia/a p3 w1: 10.1.0.4:8080*1",
      "eu/a p0 w1: 10.1.0.1:8080*1",
      "eu/b p1 w1: 10.1.0.2:8080*1",
      "us/a p2 w1: 10.1.0.3:8080*1",
    ]);
  });

  test("are weighted by distribution; zones without a share lose their endpoints", () => {
    const shop = mesh().apply(
      lb({ localityLbSetting: { distribute: [{ from: "eu/*", to: { "eu/a": 70, "eu/b": 30 } }] } }, {}),
    );
    expect(cart(inZone(shop, "eu", "a"))).toEqual([
      "eu/a p0 w70: 10.1.0.1:8080*1",
      "eu/b p0 w30: 10.1.0.2:8080*1",
      "us/a p0 w1: ",
    ]);
    expect(cart(inZone(shop, "us", "a"))[2]).toBe("us/a p0 w1: 10.1.0.3:8080*1");
    shop.apply(lb({ localityLbSetting: { distribute: [{ from: "eu", to: { "eu/*": 90, "us/*": 10 } }] } }, {}));
    expect(cart(inZone(shop, "eu", "a")).map((line) => line.slice(0, 11))).toEqual([
      "eu/a p0 w45",
      "eu/b p0 w45",
      "us/a p0 w10",
    ]);
  });

  test("are prioritized by labels shared with the client", () => {
    const shop = mesh()
      .apply(workloadYaml("cart", "10.1.0.1", { zone: "eu.a", labels: { version: "v1" } }))
      .apply(workloadYaml("cart", "10.1.0.5", { zone: "eu.a", labels: { version: "v2" } }))
      .apply(lb({ localityLbSetting: { failoverPriority: ["topology.kubernetes.io/region", "version=v2"] } }));
    expect(cart(inZone(shop, "eu", "a"))).toEqual([
      "eu/a p0 w1: 10.1.0.5:8080*1",
      "eu/a p1 w1: 10.1.0.1:8080*1",
      "eu/b p1 w1: 10.1.0.2:8080*1",
      "us/a p2 w1: 10.1.0.3:8080*1",
    ]);
  });

  test("are not prioritized by labels for a client without labels", () => {
    const shop = mesh().apply(lb({ localityLbSetting: { failoverPriority: ["version=v2"] } }));
    shop.apply(workloadYaml("cart", "10.1.0.5", { zone: "eu.a", labels: { version: "v2" } }));
    const priorities = (labels: object): readonly string[] =>
      cart(shop.proxy({ metadata: { CLUSTER_ID: "", LABELS: { ...labels } }, ip: "10.2.0.1" })).map((line) =>
        line.slice(0, 10),
      );
    expect(priorities({})).toEqual(["eu/a p0 w2", "eu/b p0 w1", "us/a p0 w1"]);
    expect(priorities({ app: "web" })).toEqual(["eu/a p0 w1", "eu/a p1 w1", "eu/b p1 w1", "us/a p1 w1"]);
  });

  test("prefer the zone by trafficDistribution, without outlier detection", () => {
    const shop = mesh(serviceYaml("cart", { spec: { trafficDistribution: "PreferClose" } }));
    expect(cart(inZone(shop, "eu", "b"))).toEqual([
      "eu/a p1 w1: 10.1.0.1:8080*1",
      "eu/b p0 w1: 10.1.0.2:8080*1",
      "us/a p2 w1: 10.1.0.3:8080*1",
    ]);
    shop.apply(
      workloadYaml("cart", "10.1.0.2", {
        zone: "eu.b",
        conditions: { ready: false, serving: false, terminating: false },
      }),
    );
    expect(inZone(shop, "eu", "b").json(endpointType, cartCluster()).endpoints[1].lbEndpoints[0].healthStatus).toBe(
      "UNHEALTHY",
    );
  });

  test("share a priority within one region under zone-aware load balancing", () => {
    const shop = mesh().apply(lb({ zoneAwareLbSetting: {} }));
    expect(cart(inZone(shop, "eu", "b")).map((line) => line.slice(0, 7))).toEqual(["eu/a p0", "eu/b p0", "us/a p1"]);
  });

  test("of the client's own workload are those in its region, for zone-aware load balancing", () => {
    const shop = mesh().apply(
      workloadYaml("cart", "10.1.0.4", { zone: "eu.b", labels: { "pod-template-hash": "new" } }),
    );
    const options = { locality: { region: "eu", zone: "a", subzone: "" }, labels: { app: "cart" } };
    const names = { ENABLE_SELF_DISCOVERY: "true", WORKLOAD_NAME: "cart" };
    expect(summary(shop.proxy({ ...options, metadata: names }).json(endpointType, "local_cluster"))).toEqual([]);
    for (const ip of ["10.1.0.1", "10.1.0.2", "10.1.0.3"]) {
      const zone = ip === "10.1.0.1" ? "eu.a" : ip === "10.1.0.2" ? "eu.b" : "us.a";
      shop.apply(workloadYaml("cart", ip, { zone, labels: { "service.istio.io/workload-name": "cart" } }));
    }
    const own = shop.proxy({ ...options, metadata: names, ip: "10.1.0.8" });
    expect(summary(own.json(endpointType, "local_cluster"))).toEqual([
      "eu/a p0 w1: 10.1.0.1:8080*1",
      "eu/b p0 w1: 10.1.0.2:8080*1",
    ]);
    expect(shop.proxy(options).names(endpointType)).not.toContain("local_cluster");
  });
});
