import { describe, expect, it } from "vitest";
import { destinationRule, istioYaml, podYaml, serviceYaml } from "../mesh-yaml.js";
import { TestMesh, type TestProxy } from "../mesh.js";
import { listenerType } from "./listener-parts.js";

const services = serviceYaml("cart") + serviceYaml("db", { ip: "10.96.0.9", ports: ["tcp:5432"] });
const db = "10.96.0.9_5432";
const at = (proxy: TestProxy, name: string) => proxy.resource(listenerType, name);
const virtualService = (weight: number): string =>
  istioYaml("VirtualService", "cart", {
    hosts: ["cart"],
    http: [
      {
        route: [
          { destination: { host: "cart", subset: "v1" }, weight },
          { destination: { host: "cart", subset: "v2" }, weight: 100 - weight },
        ],
      },
    ],
  });

describe("listeners of proxies", () => {
  it("are shared within one workload", () => {
    const web = serviceYaml("web", { ip: "10.96.0.3" }) + podYaml("web", "10.1.0.1") + podYaml("web", "10.1.0.2");
    const mesh = new TestMesh(services + web);
    const [a, b] = ["10.1.0.1", "10.1.0.2"].map((ip) =>
      mesh.proxy({ ip, name: `web-${ip.replaceAll(".", "-")}` }).set(listenerType),
    );
    expect(a).toBe(b);
  });

  it("are shared between workloads unless they name the workload", () => {
    const mesh = new TestMesh(services);
    const [web, ledger] = [mesh.proxy(), mesh.proxy({ namespace: "payments", name: "ledger", ip: "10.1.0.2" })];
    expect(at(ledger, db)).toBe(at(web, db));
    expect(at(ledger, "virtualOutbound")).toBe(at(web, "virtualOutbound"));
    // Traces name the namespace.
    expect(at(ledger, "0.0.0.0_80").version).not.toBe(at(web, "0.0.0.0_80").version);
  });

  it("for outbound traffic are all shared without tracing", () => {
    const mesh = new TestMesh(services, { enableTracing: false });
    const [web, ledger] = [mesh.proxy(), mesh.proxy({ namespace: "payments", name: "ledger", ip: "10.1.0.2" })];
    expect(at(ledger, "0.0.0.0_80")).toBe(at(web, "0.0.0.0_80"));
  });
});

describe("listeners do not change after edits of", () => {
  const proxyAfter = (edit: (mesh: TestMesh) => void): void => {
    const mesh = new TestMesh(services + virtualService(90));
    const proxy = mesh.proxy();
    const before = proxy.set(listenerType);
    edit(mesh);
    expect(proxy.set(listenerType)).toBe(before);
  };

  it("the weight of an HTTP route", () => proxyAfter((mesh) => void mesh.apply(virtualService(50))));
  it("endpoints", () =>
    proxyAfter((mesh) => void mesh.apply(podYaml("cart", "10.2.0.1")).apply(podYaml("cart", "10.2.0.2"))));
  it("another HTTP service at an existing port", () =>
    proxyAfter((mesh) => void mesh.apply(serviceYaml("more", { ip: "10.96.0.8" }))));
  it("a subset of a DestinationRule", () =>
    proxyAfter(
      (mesh) =>
        void mesh.apply(
          destinationRule("cart.shop.svc.cluster.local", { subsets: [{ name: "v1", labels: { version: "v1" } }] }),
        ),
    ));
  it("a policy for other workloads", () =>
    proxyAfter(
      (mesh) =>
        void mesh.apply(
          istioYaml("Gateway", "gateway", {
            selector: { istio: "ingress" },
            servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] }],
          }),
        ),
    ));
});

describe("an edit of one service", () => {
  it("rebuilds only the listeners of its ports", () => {
    const mesh = new TestMesh(services);
    const proxy = mesh.proxy();
    const before = new Map([...proxy.set(listenerType)].map((found) => [found.name, found]));
    mesh.apply(serviceYaml("cart", { ports: ["http:80:8080", "tcp:7000"] }));
    const changed = [...proxy.set(listenerType)]
      .filter((found) => before.get(found.name) !== found)
      .map(({ name }) => name);
    expect(changed).toEqual(["10.96.0.1_7000"]);
  });
});
