import { describe, expect, test } from "vitest";
import { lookups } from "../../src/index.js";
import { destinationRule, istioYaml, serviceEntry, serviceYaml } from "../mesh-yaml.js";
import { clusterType, type Json, TestMesh, type TestProxy } from "../mesh.js";
import { cartCluster, endpointType, summary, workloadYaml } from "./endpoint-yaml.js";

const assignment = (proxy: TestProxy, name = cartCluster()): Json => proxy.json(endpointType, name);
const onlyEndpoint = (proxy: TestProxy, name = cartCluster()): Json =>
  assignment(proxy, name).endpoints[0].lbEndpoints[0];

describe("endpoints of a service", () => {
  test("are its pods, with metadata that identifies them and selects mutual TLS", () => {
    const proxy = new TestMesh(serviceYaml("cart"))
      .apply(workloadYaml("cart", "10.1.0.1", { labels: { version: "v1" } }))
      .proxy();
    expect(assignment(proxy)).toEqual({
      clusterName: cartCluster(),
      endpoints: [
        {
          locality: {},
          loadBalancingWeight: 1,
          lbEndpoints: [
            {
              endpoint: { address: { socketAddress: { address: "10.1.0.1", portValue: 8080 } } },
              healthStatus: "HEALTHY",
              loadBalancingWeight: 1,
              metadata: {
                filterMetadata: {
                  "envoy.transport_socket_match": { tlsMode: "istio" },
                  istio: { workload: "cart-10-1-0-1;shop;cart;v1;Kubernetes" },
                },
              },
            },
          ],
        },
      ],
    });
  });

  test("change with a pod's readiness, in one resource shared by all clients", () => {
    const mesh = new TestMesh(serviceYaml("cart") + serviceYaml("bill"))
      .apply(workloadYaml("cart", "10.1.0.1"))
      .apply(workloadYaml("bill", "10.1.0.2"));
    const web = mesh.proxy();
    const far = mesh.proxy({
      namespace: "pay",
      ip: "10.1.0.9",
      name: "x",
      locality: { region: "us", zone: "a", subzone: "" },
    });
    const clusters = web.set(clusterType);
    const before = new Map([...web.set(endpointType)].map((resource) => [resource.name, resource]));
    mesh.apply(workloadYaml("cart", "10.1.0.1", { conditions: { ready: false, serving: false, terminating: false } }));
    expect(web.set(clusterType)).toBe(clusters);
    const changed = [...web.set(endpointType)].filter((resource) => before.get(resource.name) !== resource);
    expect(changed.map(({ name }) => name)).toEqual([cartCluster()]);
    expect(onlyEndpoint(web).healthStatus).toBe("UNHEALTHY");
    expect(far.resource(endpointType, cartCluster())).toBe(web.resource(endpointType, cartCluster()));
  });

  test("do not change if a slice lists them in another order", () => {
    const slice = (...ips: readonly string[]): string =>
      JSON.stringify({
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: { name: "a", namespace: "shop", labels: { "kubernetes.io/service-name": "cart" } },
        addressType: "IPv4",
        ports: [{ name: "http", port: 8080 }],
        endpoints: ips.map((ip) => ({ addresses: [ip] })),
      });
    const mesh = new TestMesh(serviceYaml("cart")).apply(slice("192.0.2.2", "192.0.2.1"));
    const proxy = mesh.proxy();
    const before = proxy.set(endpointType);
    mesh.apply(slice("192.0.2.1", "192.0.2.2"));
    expect(proxy.set(endpointType)).toBe(before);
    expect(summary(assignment(proxy))).toEqual(["/ p0 w2: 192.0.2.1:8080*1 192.0.2.2:8080*1"]);
  });

  test("that are not ready are omitted with minHealthPercent, unless unhealthy endpoints are always sent", () => {
    const mesh = new TestMesh(serviceYaml("cart"))
      .apply(workloadYaml("cart", "10.1.0.1", { conditions: { ready: false, serving: false, terminating: false } }))
      .apply(
        destinationRule("cart.shop.svc.cluster.local", {
          trafficPolicy: { outlierDetection: { minHealthPercent: 50 } },
        }),
      );
    const proxy = mesh.proxy();
    expect(assignment(proxy).endpoints).toBeUndefined();
    mesh.set("PILOT_SEND_UNHEALTHY_ENDPOINTS", "true");
    expect(onlyEndpoint(proxy).healthStatus).toBe("UNHEALTHY");
    mesh.set("PILOT_SEND_UNHEALTHY_ENDPOINTS", "false").set("PILOT_AUTO_SEND_UNHEALTHY_ENDPOINTS", "false");
    mesh.remove(destinationRule("cart.shop.svc.cluster.local", {}));
    expect(assignment(proxy).endpoints).toBeUndefined();
  });

  test("that drain are sent for persistent sessions, and terminating ones are not", () => {
    const ending = workloadYaml("cart", "10.1.0.1", { conditions: { ready: false, serving: true, terminating: true } });
    const mesh = new TestMesh(serviceYaml("cart")).apply(ending);
    const proxy = mesh.proxy();
    expect(assignment(proxy).endpoints).toBeUndefined();
    mesh.apply(serviceYaml("cart", { labels: { "istio.io/persistent-session": "cookie" } }));
    expect(onlyEndpoint(proxy).healthStatus).toBe("DRAINING");
    mesh.apply(workloadYaml("cart", "10.1.0.1", { labels: { "istio.io/draining": "true" } }));
    expect(onlyEndpoint(proxy).healthStatus).toBe("DRAINING");
  });

  test("of a subset match its labels; a subset of another rule is empty", () => {
    const mesh = new TestMesh(serviceYaml("cart"))
      .apply(workloadYaml("cart", "10.1.0.1", { labels: { version: "v1" } }))
      .apply(workloadYaml("cart", "10.1.0.2", { labels: { version: "v2" } }))
      .apply(
        destinationRule("cart.shop.svc.cluster.local", {
          subsets: [
            { name: "two", labels: { version: "v2" } },
            { name: "none", labels: { version: "v9" } },
          ],
        }),
      );
    const proxy = mesh.proxy();
    expect(proxy.names(endpointType)).toEqual([cartCluster(), cartCluster("none"), cartCluster("two")].sort());
    expect(summary(assignment(proxy, cartCluster("two")))).toEqual(["/ p0 w1: 10.1.0.2:8080*1"]);
    expect(assignment(proxy, cartCluster("none"))).toEqual({ clusterName: cartCluster("none") });
  });

  test("on other nodes are omitted with internalTrafficPolicy: Local", () => {
    const mesh = new TestMesh(serviceYaml("cart", { spec: { internalTrafficPolicy: "Local" } }))
      .apply(workloadYaml("cart", "10.1.0.1", { node: "n1" }))
      .apply(workloadYaml("cart", "10.1.0.2", { node: "n2" }));
    expect(summary(assignment(mesh.proxy({ metadata: { NODE_NAME: "n2" } })))).toEqual(["/ p0 w1: 10.1.0.2:8080*1"]);
    expect(summary(assignment(mesh.proxy()))).toEqual([]);
  });

  test("of ServiceEntries have their weights; hostnames are not sent", () => {
    const ports = [{ number: 80, name: "http", protocol: "HTTP" }];
    const mesh = new TestMesh(
      serviceEntry("fixed", {
        hosts: ["fixed.example.org"],
        ports,
        resolution: "STATIC",
        endpoints: [{ address: "192.0.2.1", weight: 3 }, { address: "192.0.2.2" }],
      }) +
        serviceEntry("named", { hosts: ["named.example.org"], ports, resolution: "DNS" }) +
        serviceEntry("free", { hosts: ["free.example.org"], ports, resolution: "NONE" }),
    );
    const proxy = mesh.proxy();
    expect(proxy.names(endpointType)).toEqual(["outbound|80||fixed.example.org"]);
    expect(summary(assignment(proxy, "outbound|80||fixed.example.org"))).toEqual([
      "/ p0 w4: 192.0.2.1:80*3 192.0.2.2:80*1",
    ]);
    expect(onlyEndpoint(proxy, "outbound|80||fixed.example.org").healthStatus).toBeUndefined();
    expect(mesh.proxy({ type: "router" }).names(endpointType)).toContain("outbound|80||free.example.org");
  });

  test("are not sent under PASSTHROUGH, and are empty for unknown clusters", () => {
    const mesh = new TestMesh(serviceYaml("cart")).apply(
      destinationRule("cart.shop.svc.cluster.local", { trafficPolicy: { loadBalancer: { simple: "PASSTHROUGH" } } }),
    );
    const proxy = mesh.proxy();
    expect(proxy.names(endpointType)).toEqual([]);
    const lookup = lookups[`type.googleapis.com/${endpointType}`];
    if (lookup === undefined) throw new Error("no lookup");
    expect(proxy.view.call(lookup, "outbound|1||nothing.example.org")?.name).toBe("outbound|1||nothing.example.org");
  });

  test("follow a Sidecar's imports", () => {
    const mesh = new TestMesh(serviceYaml("cart") + serviceYaml("bill")).apply(
      istioYaml("Sidecar", "default", { egress: [{ hosts: ["./cart.shop.svc.cluster.local"] }] }),
    );
    expect(mesh.proxy().names(endpointType)).toEqual([cartCluster()]);
  });
});

describe("mutual TLS to an endpoint", () => {
  const tlsMode = (proxy: TestProxy): unknown =>
    onlyEndpoint(proxy).metadata.filterMetadata["envoy.transport_socket_match"]?.tlsMode;
  const policy = (name: string, spec: object): string =>
    `---\n${JSON.stringify({ apiVersion: "security.istio.io/v1", kind: "PeerAuthentication", metadata: { name, namespace: "shop" }, spec })}\n`;

  test("requires a proxy at the endpoint, and no policy there that disables it", () => {
    const mesh = new TestMesh(serviceYaml("cart")).apply(workloadYaml("cart", "10.1.0.1"));
    const proxy = mesh.proxy();
    expect(tlsMode(proxy)).toBe("istio");
    mesh.apply(
      policy("cart", {
        selector: { matchLabels: { app: "cart" } },
        mtls: { mode: "STRICT" },
        portLevelMtls: { 8080: { mode: "DISABLE" } },
      }),
    );
    expect(tlsMode(proxy)).toBeUndefined();
    mesh.apply(policy("cart", { selector: { matchLabels: { app: "other" } }, mtls: { mode: "DISABLE" } }));
    expect(tlsMode(proxy)).toBe("istio");
    mesh.apply(policy("default", { mtls: { mode: "DISABLE" } }));
    expect(tlsMode(proxy)).toBeUndefined();
    mesh.apply(workloadYaml("cart", "10.1.0.1", { injected: false })).remove(policy("default", {}));
    expect(tlsMode(proxy)).toBeUndefined();
  });

  test("follows the client's DestinationRule, if it has TLS settings", () => {
    const mesh = new TestMesh(serviceYaml("cart")).apply(workloadYaml("cart", "10.1.0.1"));
    const proxy = mesh.proxy();
    const rule = (tls: object): string => destinationRule("cart.shop.svc.cluster.local", { trafficPolicy: { tls } });
    mesh.apply(rule({ mode: "DISABLE" }));
    expect(tlsMode(proxy)).toBeUndefined();
    mesh.apply(rule({ mode: "ISTIO_MUTUAL" })).apply(policy("default", { mtls: { mode: "DISABLE" } }));
    expect(tlsMode(proxy)).toBe("istio");
  });
});
