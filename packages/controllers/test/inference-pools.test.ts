import { followPoolOwnership, inferencePoolController, type PoolOwnershipOptions } from "@istiod/controllers";
import type { InferencePoolService } from "@istiod/gateway-api";
import { expect, it, onTestFinished } from "vitest";
import { eventually, meshSettings, testCluster } from "./support/cluster.js";

const apiVersion = "inference.networking.k8s.io/v1";
const types = [
  {
    group: "inference.networking.k8s.io",
    version: "v1",
    kind: "InferencePool",
    plural: "inferencepools",
    namespaced: true,
  },
];
const service = (targetPort: number, appProtocol?: string): InferencePoolService => ({
  namespace: "shop",
  name: "model-ip-1",
  pool: "model",
  labels: { "istio.io/inferencepool-name": "model", "istio.io/inferencepool-extension-service": "picker" },
  selector: { app: "model" },
  ports: [{ name: "http-0", port: 54321, targetPort, ...(appProtocol !== undefined && { appProtocol }) }],
});

async function start() {
  const cluster = await testCluster({ namespaces: ["shop", "istio-system"], types });
  let changed: (services: readonly InferencePoolService[]) => void = () => undefined;
  const follow = (wanted: typeof changed): (() => void) => {
    changed = wanted;
    changed([service(8000)]);
    return () => undefined;
  };
  const options = { mesh: meshSettings(), revision: "default", systemNamespace: "istio-system" };
  const run = () => cluster.run(inferencePoolController({ ...options, services: { follow } }));
  const found = () =>
    cluster.server.objects.get({ apiVersion: "v1", kind: "Service", namespace: "shop", name: "model-ip-1" });
  const createPool = (labels: Readonly<Record<string, string>> = {}) =>
    cluster.server.objects.create({
      apiVersion,
      kind: "InferencePool",
      metadata: { namespace: "shop", name: "model", labels },
    });
  return { ...cluster, run, found, createPool, update: (...args: Parameters<typeof changed>) => changed(...args) };
}

it("a headless Service finds the Pods of an InferencePool, which owns it", async () => {
  const { run, found, createPool, update, writes, server } = await start();
  const pool = await createPool();
  run();
  await eventually(() =>
    expect(found()).toMatchObject({
      metadata: {
        labels: service(8000).labels,
        ownerReferences: [{ apiVersion, kind: "InferencePool", name: "model", uid: pool.metadata.uid }],
      },
      spec: {
        clusterIP: "None",
        selector: { app: "model" },
        ports: [{ name: "http-0", port: 54321, targetPort: 8000, protocol: "TCP" }],
      },
    }),
  );
  expect(writes()).toHaveLength(1);
  update([service(9000)]);
  await eventually(() => expect(found()).toMatchObject({ spec: { ports: [{ port: 54321, targetPort: 9000 }] } }));
  update([service(9000, "kubernetes.io/h2c")]);
  await eventually(() => expect(found()).toMatchObject({ spec: { ports: [{ appProtocol: "kubernetes.io/h2c" }] } }));
  expect(writes()).toHaveLength(3);
  await server.objects.delete({ apiVersion: "v1", kind: "Service", namespace: "shop", name: "model-ip-1" });
  await eventually(() => expect(found()).toMatchObject({ spec: { ports: [{ targetPort: 9000 }] } }));
});

it.each<[string, Readonly<Record<string, string>>, boolean]>([
  ["a Service with the name that is not of an InferencePool", {}, true],
  ["a pool of another revision", { "istio.io/rev": "canary" }, false],
])("%s is left alone", async (_, labels, exists) => {
  const { run, found, createPool, server, log, writes } = await start();
  if (exists)
    await server.objects.create({
      apiVersion: "v1",
      kind: "Service",
      metadata: { namespace: "shop", name: "model-ip-1" },
      spec: { ports: [{ port: 80 }] },
    });
  await createPool(labels);
  run();
  await eventually(() => expect(log.lines).toContain("info starting inference pool controller"));
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(writes()).toEqual([]);
  expect(found() === undefined).toBe(!exists);
});

it("a Service is known to be unwritten if the pool, or its namespace, is of another revision", async () => {
  const { client, createPool, server } = await start();
  const follow = (options: Partial<PoolOwnershipOptions> = {}) => {
    const scope = { mesh: meshSettings(), revision: "default", systemNamespace: "istio-system" };
    const ownership = followPoolOwnership({ client, ...scope, ...options });
    onTestFinished(() => ownership.stop());
    return ownership;
  };
  const [own, elsewhere] = [follow(), follow({ readsPoolsElsewhere: true })];
  const other = "the InferencePool belongs to another revision than that of this istiod, default";
  const isAbsent = "the InferencePool is not in the cluster";
  await eventually(() => expect(elsewhere.reasonUnwritten("shop/model")).toBe(isAbsent));
  expect(own.reasonUnwritten("shop/model")).toBeUndefined();

  const pool = { apiVersion, kind: "InferencePool", namespace: "shop", name: "model" };
  await createPool({ "istio.io/rev": "canary" });
  await eventually(() => expect(own.reasonUnwritten("shop/model")).toBe(other));
  await eventually(() => expect(elsewhere.reasonUnwritten("shop/model")).toBe(other));
  await server.objects.delete(pool);
  await createPool();
  await eventually(() => expect(own.reasonUnwritten("shop/model")).toBeUndefined());
  await eventually(() => expect(elsewhere.reasonUnwritten("shop/model")).toBeUndefined());

  await server.objects.create({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "lab", labels: { "istio.io/rev": "canary" } },
  });
  await server.objects.create({ apiVersion, kind: "InferencePool", metadata: { namespace: "lab", name: "model" } });
  await eventually(() => expect(own.reasonUnwritten("lab/model")).toBe(other));
  // A tag of this revision names the namespace's.
  await server.objects.create({
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      namespace: "istio-system",
      name: "istiod-canary",
      labels: { "istio.io/tag": "canary", "istio.io/rev": "default" },
    },
    spec: { ports: [{ port: 15012 }] },
  });
  await eventually(() => expect(own.reasonUnwritten("lab/model")).toBeUndefined());
});
