import { describe, expect, it } from "vitest";
import { podProxies, proxyNamed } from "../src/index.js";
import { TestMesh } from "./mesh.js";
import { networking } from "./objects.js";

const pod = (
  name: string,
  ip: string,
  { labels = {}, annotations = {}, phase = "Running" }: { labels?: object; annotations?: object; phase?: string } = {},
): string =>
  `---\n${JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "shop", labels, annotations },
    spec: {
      serviceAccountName: "web",
      nodeName: "n1",
      containers: [{ name: "app", ports: [{ name: "http", containerPort: 8080 }] }],
    },
    status: { phase, ...(ip && { podIP: ip, podIPs: [{ ip }] }) },
  })}\n`;

const injected = { "security.istio.io/tlsMode": "istio" };

describe("proxies of Pods", () => {
  it("include Pods with sidecars, and gateways by template, by the Gateway API and by a Gateway's selector", () => {
    const { db } = new TestMesh(
      pod("web", "10.1.0.1", { labels: injected }) +
        pod("bare", "10.1.0.2") +
        pod("edge", "10.1.0.3", { annotations: { "inject.istio.io/templates": "gateway" } }) +
        pod("api", "10.1.0.4", { labels: { "gateway.networking.k8s.io/gateway-name": "api" } }) +
        pod("selected", "10.1.0.5", { labels: { app: "edge" } }) +
        pod("done", "10.1.0.6", { labels: injected, phase: "Succeeded" }) +
        pod("pending", "", { labels: injected }) +
        "---" +
        networking(
          "Gateway",
          "shop",
          "g",
          '{selector: {app: edge}, servers: [{port: {number: 80, name: http, protocol: HTTP}, hosts: ["*"]}]}',
        ),
    );
    expect(podProxies(db).map(({ nodeId }) => nodeId)).toEqual([
      "router~10.1.0.3~edge.shop~shop.svc.cluster.local",
      "router~10.1.0.4~api.shop~shop.svc.cluster.local",
      "router~10.1.0.5~selected.shop~shop.svc.cluster.local",
      "sidecar~10.1.0.1~web.shop~shop.svc.cluster.local",
    ]);
  });

  it("have the metadata that their agents would send, from the Pod, the mesh configuration and the Pod's annotation", () => {
    const annotations = {
      "proxy.istio.io/config": "concurrency: 5\nproxyMetadata: {ISTIO_META_DNS_CAPTURE: 'true'}",
      "sidecar.istio.io/interceptionMode": "TPROXY",
    };
    const { db } = new TestMesh(pod("web", "10.1.0.1", { labels: { ...injected, app: "web" }, annotations }), {
      defaultConfig: { proxyMetadata: { ISTIO_META_NETWORK: "far" } },
    });
    const { metadata, rawMetadata } = proxyNamed(db, "web.shop");
    expect(metadata).toMatchObject({
      CLUSTER_ID: "Kubernetes",
      DNS_CAPTURE: true,
      INSTANCE_IPS: ["10.1.0.1"],
      INTERCEPTION_MODE: "TPROXY",
      ANNOTATIONS: annotations,
      ENVOY_PROMETHEUS_PORT: 15090,
      ENVOY_STATUS_PORT: 15021,
      LABELS: { app: "web" },
      MESH_ID: "cluster.local",
      NETWORK: "far",
      NODE_NAME: "n1",
      POD_PORTS: [{ name: "http", containerPort: 8080, protocol: "TCP" }],
      SERVICE_ACCOUNT: "web",
    });
    expect(rawMetadata["PROXY_CONFIG"]).toMatchObject({ concurrency: 5 });
  });

  it.each([
    ["drainDuration: 1m30s", { drainDuration: "90s" }],
    ["drainDuration: 1.5sx", { drainDuration: "45s" }],
    ["concurrency: [", { drainDuration: "45s" }],
  ])("has the ProxyConfig of the annotation %j, and the mesh's if it is malformed", (text, expected) => {
    const annotations = { "proxy.istio.io/config": text };
    const { db } = new TestMesh(pod("web", "10.1.0.1", { labels: { ...injected, app: "web" }, annotations }), {
      defaultConfig: { drainDuration: "45s" },
    });
    expect(proxyNamed(db, "web.shop").rawMetadata["PROXY_CONFIG"]).toMatchObject(expected);
  });

  it("can be named by node ID, with the Pod's metadata; an unknown name is an error with the expected form", () => {
    const { db } = new TestMesh(pod("web", "10.1.0.1", { labels: { ...injected, app: "web" } }));
    expect(proxyNamed(db, "router~10.9.0.1~web.shop~shop.svc.cluster.local")).toMatchObject({
      type: "router",
      ipAddresses: ["10.9.0.1"],
      metadata: { LABELS: { app: "web" } },
    });
    expect(proxyNamed(db, "sidecar~10.9.0.1~vm.shop~shop.svc.cluster.local").namespace).toBe("shop");
    expect(() => proxyNamed(db, "cart.shop")).toThrow(/there is no Pod "cart.shop": expected name.namespace/);
    expect(() => proxyNamed(db, "x~y")).toThrow(/expected type~ip~name.namespace~domain/);
  });
});
