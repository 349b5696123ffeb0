import { eventually, type Mesh, startMesh, whyNoEnvoy } from "@istiod/e2e";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

const reason = await whyNoEnvoy();

/** Endpoints of `remote.shop` in zones of another network. */
const zones = { "north/a": 2, "north/b": 2, "north/c": 1 };
const remote = Object.entries(zones).flatMap(([locality, count], zone) =>
  Array.from({ length: count }, (_, n) => ({ locality, address: `192.0.2.${zone * 10 + n + 1}` })),
);
const gateway = "198.51.100.7";

const objects = `
apiVersion: v1
kind: Service
metadata: {name: cross, namespace: istio-system, labels: {topology.istio.io/network: far}}
spec:
  type: LoadBalancer
  clusterIP: 10.96.77.1
  ports: [{name: tls, port: 15443, targetPort: 15443}]
status: {loadBalancer: {ingress: [{ip: ${gateway}}]}}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: remote, namespace: shop}
spec:
  hosts: [remote.example.com]
  location: MESH_INTERNAL
  resolution: STATIC
  ports: [{number: 8000, name: http, protocol: HTTP}]
  endpoints:
${remote
  .map(
    ({ locality, address }) =>
      `  - {address: ${address}, locality: ${locality}, network: far, labels: {security.istio.io/tlsMode: istio}}`,
  )
  .join("\n")}
`;

describe("a network whose endpoints are in several zones", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let mesh: Mesh;
  beforeAll(async () => {
    if (reason) return;
    mesh = await startMesh({ objects, workloads: [{ app: "client", locality: "east/a" }] });
  }, 90_000);
  afterAll(() => mesh?.close());

  it("has the weight of all of them in Envoy's /clusters", async () => {
    const cluster = "outbound|8000||remote.example.com";
    const weights = await eventually("the cluster has endpoints", async () => {
      const lines = (await mesh.admin("client", "/clusters")).split("\n");
      const found = lines.filter((line) => line.startsWith(`${cluster}::`) && line.includes("::weight::"));
      return found.length === 0 ? undefined : found.map((line) => line.slice(cluster.length + 2));
    });
    expect(weights).toEqual([`${gateway}:15443::weight::${remote.length}`]);
  });
});
