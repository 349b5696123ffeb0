import { applyMeshConfig, meshConfig, meshConfigKey } from "@istiod/config-schema";
import { commitYaml, servicesWithPods } from "@istiod/config-schema/testing";
import { Database } from "@istiod/incremental";
import { podProxies, type Proxy, proxyFromNode } from "@istiod/push-context";
import type { ResourceSet } from "@istiod/resources";
import { describe, expect, test } from "vitest";
import { generators, warmUp } from "../src/index.js";

const pods = 6;

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
  test("leaves nothing to compute for a proxy that matches its Pod", async () => {
    const database = mesh();
    expect(await warmUp({ database, ...everything })).toMatchObject({ proxies: pods, all: true });
    const before = database.stats();
    expect(before.views).toBe(0);
    for (const proxy of podProxies(database)) configurationOf(database, proxy);
    expect(database.stats().recomputations).toBe(before.recomputations);
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
    expect(proxies).toBeLessThan(pods);
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
