import { readFile } from "node:fs/promises";
import { create } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { clusterType } from "@istiod/resources";
import { expect, test } from "vitest";
import { client, folder, serve } from "./serving.js";

const pods = 6;

function yaml(): string {
  const objects = Array.from({ length: pods }, (_, i) => {
    const name = `app-${i}`;
    const ip = `10.1.0.${i + 1}`;
    const labels = { app: name, "security.istio.io/tlsMode": "istio" };
    return [
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name, namespace: `ns-${i % 2}` },
        spec: {
          clusterIP: `10.2.0.${i + 1}`,
          selector: { app: name },
          ports: [{ name: "http", port: 80, targetPort: 8080 }],
        },
      },
      {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name, namespace: `ns-${i % 2}`, labels },
        spec: { serviceAccountName: name, containers: [{ name: "app" }] },
        status: { phase: "Running", podIP: ip, podIPs: [{ ip }] },
      },
      {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: { name, namespace: `ns-${i % 2}`, labels: { "kubernetes.io/service-name": name } },
        addressType: "IPv4",
        endpoints: [
          { addresses: [ip], conditions: { ready: true }, targetRef: { kind: "Pod", name, namespace: `ns-${i % 2}` } },
        ],
        ports: [{ name: "http", port: 8080, protocol: "TCP" }],
      },
    ];
  });
  return objects
    .flat()
    .map((object) => `---\n${JSON.stringify(object)}\n`)
    .join("");
}

test("istiod warms up before it is ready, and serves the expected resources", async () => {
  const configDir = await folder({ "mesh.yaml": yaml() });
  const readyFile = `${configDir}.ready`;
  const istiod = await serve({ configDir, readyFile });
  expect(istiod.lines).toContainEqual(
    expect.objectContaining({ prepared: expect.objectContaining({ proxies: pods, all: true }) as object }),
  );
  expect(await readFile(readyFile, "utf8")).not.toBe("");
  const proxy = client(
    istiod,
    "delta",
    create(NodeSchema, {
      id: "sidecar~10.1.0.1~app-0.ns-0~ns-0.svc.cluster.local",
      metadata: { CLUSTER_ID: "Kubernetes" },
    }),
  );
  proxy.subscribe(clusterType);
  const response = await proxy.accept(clusterType);
  expect(response.resources.map(({ name }) => name)).toContain("outbound|80||app-3.ns-1.svc.cluster.local");
});
