import { applyMeshConfig, meshConfig, meshConfigKey } from "@istiod/config-schema";
import { commitYaml, servicesWithPods } from "@istiod/config-schema/testing";
import { Database } from "@istiod/incremental";
import { podProxies, type Proxy, proxyFromNode } from "@istiod/push-context";
import type { ResourceSet } from "@istiod/resources";
import { describe, expect, test } from "vitest";
import { generators, warmUp } from "../src/index.js";

const pods = 6;
const namespaces = 2;

function mesh(): Database<Proxy> {
  const database = new Database<Proxy>();
  const config = applyMeshConfig({}, { warning: () => undefined, error: () => undefined });
  if (config) database.commit((tx) => tx.set(meshConfig, meshConfigKey, config));
  commitYaml(database, servicesWithPods(pods));
  return database;
}

/** Returns the versions of all resources of a proxy, by type and name. */
function configurationOf(database: Database<Proxy>, proxy: Proxy): Record<string, string> {
  const view = database.view(proxy);
  const found = Object.entries(generators).flatMap(([type, generator]) =>
    [...(view.call(generator) as ResourceSet)].map((resource) => [`${type} ${resource.name}`, resource.version]),
  );
  view.release();
  return Object.fromEntries(found) as Record<string, string>;
}

const everything = { cluster: "Kubernetes", limitMs: 60_000 };

describe("startup warm-up", () => {
  test("leaves nothing to compute for the proxies that it covers", async () => {
    const database = mesh();
    expect(await warmUp({ database, ...everything })).toMatchObject({ proxies: namespaces, all: true });
    const before = database.stats();
    expect(before.views).toBe(0);
    const [first, ...others] = podProxies(database);
    if (first !== undefined) configurationOf(database, first);
    expect(database.stats().recomputations).toBe(before.recomputations);
    for (const proxy of others) configurationOf(database, proxy);
    expect(database.stats().recomputations).toBeGreaterThan(before.recomputations);
  });

  test("covers one sidecar of each namespace and locality, and all gateways, before readiness", async () => {
    const sidecar = (namespace: string, number: number, node: string, labels: string): string => `
apiVersion: v1
kind: Pod
metadata: { name: p-${number}, namespace: ${namespace}, labels: { ${labels} } }
spec: { nodeName: ${node} }
status: { phase: Running, podIP: 10.9.0.${number} }
---`;
    const injected = "security.istio.io/tlsMode: istio";
    const gateway = "gateway.networking.k8s.io/gateway-name: public";
    const database = mesh();
    commitYaml(
      database,
      `
apiVersion: v1
kind: Node
metadata: { name: far, labels: { topology.kubernetes.io/region: r, topology.kubernetes.io/zone: z } }
---${sidecar("a", 1, "near", injected)}${sidecar("a", 2, "near", injected)}${sidecar("a", 3, "far", injected)}
${sidecar("a", 4, "far", injected)}${sidecar("a", 5, "near", gateway)}${sidecar("a", 6, "near", gateway)}
${sidecar("b", 7, "near", injected)}${sidecar("b", 8, "near", "app: b")}`,
    );
    const shared = { ofServices: namespaces, gateways: 2, ofPlacesOfA: 2, ofB: 1 };
    const proxies = Object.values(shared).reduce((sum, count) => sum + count, 0);
    expect(await warmUp({ database, ...everything })).toMatchObject({ proxies, all: true });
  });

  test.each([
    ["Sidecar", "networking.istio.io/v1", "workloadSelector: { labels: { tier: web } }, egress: [{ hosts: [./*] }]"],
    [
      "EnvoyFilter",
      "networking.istio.io/v1alpha3",
      `workloadSelector: { labels: { tier: web } },
       configPatches: [{ applyTo: CLUSTER, patch: { operation: MERGE, value: { connect_timeout: 3s } } }]`,
    ],
    [
      "DestinationRule",
      "networking.istio.io/v1",
      `host: app-0, workloadSelector: { matchLabels: { tier: web } },
       trafficPolicy: { connectionPool: { tcp: { maxConnections: 7 } } }`,
    ],
    [
      "Telemetry",
      "telemetry.istio.io/v1",
      "selector: { matchLabels: { tier: web } }, accessLogging: [{ providers: [{ name: envoy }] }]",
    ],
    [
      "WasmPlugin",
      "extensions.istio.io/v1alpha1",
      "selector: { matchLabels: { tier: web } }, url: 'file:///filter.wasm', match: [{ mode: CLIENT }]",
    ],
  ])("covers one sidecar of those that a %s selects", async (kind, apiVersion, spec) => {
    const pod = (number: number, labels: string): string => `
apiVersion: v1
kind: Pod
metadata: { name: p-${number}, namespace: ns-0, labels: { security.istio.io/tlsMode: istio, ${labels} } }
spec: { nodeName: near }
status: { phase: Running, podIP: 10.9.0.${number} }
---`;
    const selected = [1, 2, 3].map((number) => pod(number, `tier: web, pod-template-hash: h-${number}`));
    /** Returns the proxies computed, and the recomputations for a selected Pod that connects later. */
    const costs = async (objects: string): Promise<{ proxies: number; recomputations: number }> => {
      const database = mesh();
      commitYaml(database, selected.join("") + objects);
      const { proxies } = await warmUp({ database, ...everything });
      const before = database.stats().recomputations;
      const last = podProxies(database).find(({ id }) => id === "p-3.ns-0");
      if (last === undefined) throw new Error("no proxy");
      configurationOf(database, last);
      return { proxies, recomputations: database.stats().recomputations - before };
    };
    const object = (selector: string): string => `
apiVersion: ${apiVersion}
kind: ${kind}
metadata: { name: selecting, namespace: ns-0 }
spec: { ${selector} }`;
    // An object that selects all sidecars of a namespace adds no set.
    const forAll = await costs(object(spec.replaceAll("tier: web", "security.istio.io/tlsMode: istio")));
    expect(forAll.proxies).toBe(namespaces);
    const forSome = await costs(object(spec));
    expect(forSome.proxies).toBe(namespaces + 1);
    expect(forSome.recomputations).toBeLessThanOrEqual(forAll.recomputations);
    expect(forSome.recomputations).toBeGreaterThan(0);
  });

  test("does not affect the resources of a proxy that differs from its Pod", async () => {
    const database = mesh();
    await warmUp({ database, ...everything });
    const node = {
      id: "sidecar~10.1.0.1~app-0.ns-0~ns-0.svc.cluster.local",
      metadata: { CLUSTER_ID: "Kubernetes", NAMESPACE: "ns-0", INTERCEPTION_MODE: "TPROXY", LABELS: { app: "app-0" } },
    };
    const warm = configurationOf(database, proxyFromNode(node));
    expect(warm).toEqual(configurationOf(mesh(), proxyFromNode(node)));
    expect(warm).not.toEqual(
      configurationOf(
        database,
        proxyFromNode({ ...node, metadata: { ...node.metadata, INTERCEPTION_MODE: "REDIRECT" } }),
      ),
    );
  });

  test("covers only Pods of the given cluster, and stops at the time limit", async () => {
    const database = mesh();
    expect(await warmUp({ database, ...everything, cluster: "other" })).toMatchObject({ proxies: 0, all: true });
    expect(await warmUp({ database, ...everything, limitMs: 0 })).toMatchObject({ proxies: 0, all: false });
    const { proxies, all } = await warmUp({ database, ...everything, limitMs: 1 });
    expect(all).toBe(false);
    expect(proxies).toBeLessThan(namespaces);
  });

  test("leaves results that are evicted when no proxy connects", async () => {
    const database = mesh();
    await warmUp({ database, ...everything });
    const { memos } = database.stats();
    expect(memos).toBeGreaterThan(100);
    database.evict();
    expect(database.stats().memos).toBe(0);
  });
});
