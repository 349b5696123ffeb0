import { readFile } from "node:fs/promises";
import { create } from "@bufbuild/protobuf";
import { applyMeshConfig, meshConfig, meshConfigKey } from "@istiod/config-schema";
import { commitYaml } from "@istiod/config-schema/testing";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { Database } from "@istiod/incremental";
import { podProxies, type Proxy, proxyFromNode } from "@istiod/push-context";
import type { ResourceSet } from "@istiod/resources";
import { generators } from "@istiod/xds-generators";
import { describe, expect, test } from "vitest";
import { prepare } from "../src/preparation.js";
import { client, folder, serve } from "./serving.js";

const pods = 6;
const clusterType = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

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

function mesh(): Database<Proxy> {
  const database = new Database<Proxy>();
  const config = applyMeshConfig({}, { warning: () => undefined, error: () => undefined });
  if (config) database.commit((tx) => tx.set(meshConfig, meshConfigKey, config));
  commitYaml(database, yaml());
  return database;
}

/** Versions of all that a proxy should have, by type and name. */
function configurationOf(database: Database<Proxy>, proxy: Proxy): Record<string, string> {
  const view = database.view(proxy);
  const found = Object.entries(generators).flatMap(([type, generator]) =>
    [...(view.call(generator) as ResourceSet)].map((resource) => [`${type} ${resource.name}`, resource.version]),
  );
  view.release();
  return Object.fromEntries(found) as Record<string, string>;
}

const everything = { cluster: "Kubernetes", limitMs: 60_000 };

describe("what expected proxies will ask for", () => {
  test("is there when they come: nothing is computed for a proxy that is as its Pod says", async () => {
    const database = mesh();
    expect(await prepare({ database, ...everything })).toMatchObject({ proxies: pods, all: true });
    const before = database.stats();
    expect(before.views).toBe(0);
    for (const proxy of podProxies(database)) configurationOf(database, proxy);
    expect(database.stats().recomputations).toBe(before.recomputations);
  });

  test("is not given to a proxy that describes itself otherwise", async () => {
    const database = mesh();
    await prepare({ database, ...everything });
    const node = {
      id: "sidecar~10.1.0.1~app-0.ns-0~ns-0.svc.cluster.local",
      metadata: { CLUSTER_ID: "Kubernetes", NAMESPACE: "ns-0", INTERCEPTION_MODE: "TPROXY", LABELS: { app: "app-0" } },
    };
    const prepared = configurationOf(database, proxyFromNode(node));
    expect(prepared).toEqual(configurationOf(mesh(), proxyFromNode(node)));
    expect(prepared).not.toEqual(
      configurationOf(
        database,
        proxyFromNode({ ...node, metadata: { ...node.metadata, INTERCEPTION_MODE: "REDIRECT" } }),
      ),
    );
  });

  test("is of the own cluster's Pods, and of no more than there is time for", async () => {
    const database = mesh();
    expect(await prepare({ database, ...everything, cluster: "other" })).toMatchObject({ proxies: 0, all: true });
    expect(await prepare({ database, ...everything, limitMs: 0 })).toMatchObject({ proxies: 0, all: false });
    const { proxies, all } = await prepare({ database, ...everything, limitMs: 1 });
    expect(all).toBe(false);
    expect(proxies).toBeLessThan(pods);
  });

  test("is let go of where nobody comes for it", async () => {
    const database = mesh();
    await prepare({ database, ...everything });
    const { memos } = database.stats();
    expect(memos).toBeGreaterThan(100);
    database.evict();
    expect(database.stats().memos).toBe(0);
  });

  test("is computed before istiod is ready, and served", async () => {
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
});
