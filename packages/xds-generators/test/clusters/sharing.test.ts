import { describe, expect, it } from "vitest";
import { destinationRule, podYaml, serviceYaml } from "../mesh-yaml.js";
import { clusterType, TestMesh, type TestProxy } from "../mesh.js";

const cart = "outbound|80||cart.shop.svc.cluster.local";
const trafficPolicy = { connectionPool: { tcp: { maxConnections: 3 } } };
const of = (proxy: TestProxy, name = cart) => proxy.resource(clusterType, name);

describe("clients of the same class", () => {
  it("share each cluster, whatever their namespaces, names, addresses and labels", () => {
    const mesh = new TestMesh(serviceYaml("cart") + destinationRule("cart.shop.svc.cluster.local", { trafficPolicy }));
    const [first, ...others] = [
      mesh.proxy(),
      mesh.proxy({ namespace: "payments", name: "ledger", ip: "10.1.0.2", labels: { app: "ledger" } }),
      mesh.proxy({ namespace: "other", locality: { region: "r", zone: "z", subzone: "" } }),
    ];
    for (const other of others) expect(of(other)).toBe(of(first as TestProxy));
  });

  it("of one workload share the whole set", () => {
    const web = serviceYaml("web") + podYaml("web", "10.1.0.1") + podYaml("web", "10.1.0.2");
    const mesh = new TestMesh(web + serviceYaml("cart"));
    const sets = ["10.1.0.1", "10.1.0.2"].map((ip) =>
      mesh.proxy({ ip, name: `web-${ip.replaceAll(".", "-")}` }).set(clusterType),
    );
    expect(sets[0]?.size).toBeGreaterThan(4);
    expect(sets[0]).toBe(sets[1]);
  });

  it("get their own clusters only where a DestinationRule selects them", () => {
    const mesh = new TestMesh(serviceYaml("cart"));
    const [web, ledger] = [mesh.proxy(), mesh.proxy({ namespace: "payments" })];
    const before = [of(web), of(ledger)];
    mesh.apply(destinationRule("cart.shop.svc.cluster.local", { trafficPolicy }, "payments"));
    expect(of(web)).toBe(before[0]);
    expect(of(ledger)).not.toBe(before[1]);
  });
});

describe("an edit", () => {
  it("of endpoints changes no cluster, unless identities change", () => {
    const mesh = new TestMesh(serviceYaml("cart") + podYaml("cart", "10.2.0.1"));
    const proxy = mesh.proxy();
    const before = proxy.set(clusterType);
    mesh.apply(podYaml("cart", "10.2.0.2"));
    expect(proxy.set(clusterType)).toBe(before);
    mesh.apply(podYaml("cart", "10.2.0.3", { account: "another" }));
    expect(proxy.set(clusterType)).not.toBe(before);
  });

  it("of one service leaves clusters of other services unchanged", () => {
    const mesh = new TestMesh(serviceYaml("cart") + serviceYaml("other"));
    const proxy = mesh.proxy();
    const other = of(proxy, "outbound|80||other.shop.svc.cluster.local");
    mesh.apply(serviceYaml("cart", { ports: ["http:80:8080", "grpc:90"] }));
    expect(of(proxy, "outbound|90||cart.shop.svc.cluster.local").name).toBe("outbound|90||cart.shop.svc.cluster.local");
    expect(of(proxy, "outbound|80||other.shop.svc.cluster.local")).toBe(other);
  });

  it("with an equal result keeps the same resource object", () => {
    const mesh = new TestMesh(serviceYaml("cart"));
    const proxy = mesh.proxy();
    const before = proxy.set(clusterType);
    mesh.apply(serviceYaml("cart", { annotations: { note: "read by nobody" } }));
    mesh.apply(destinationRule("elsewhere.example.com", { trafficPolicy }));
    mesh.configure({ accessLogFile: "/dev/stdout" });
    expect(proxy.set(clusterType)).toBe(before);
  });
});
