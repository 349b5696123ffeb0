import { clusterReader, Ingestion, KubernetesSource, type KubernetesSourceOptions } from "@istiod/config-ingestion";
import { namespaceKind, secretKind, serviceKind, virtualServiceKind } from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import { createApiClient, parseKubeconfig, type ResourceType } from "@istiod/kubernetes";
import { type ObjectInput, startApiServer } from "@istiod/kubernetes/testing";
import { expect, onTestFinished, test } from "vitest";

const group = "networking.istio.io";
const types: readonly ResourceType[] = [
  { group, version: "v1", kind: "VirtualService", plural: "virtualservices", namespaced: true },
];
const cart = { namespace: "shop", name: "cart" };
const watches = { watch: true, pathPrefix: `/apis/${group}/v1/virtualservices` };

const route = (host: string, labels: Readonly<Record<string, string>> = {}): ObjectInput => ({
  apiVersion: `${group}/v1`,
  kind: "VirtualService",
  metadata: { ...cart, labels },
  spec: { hosts: ["cart"], http: [{ route: [{ destination: { host } }] }] },
});
const reference = { apiVersion: `${group}/v1`, kind: "VirtualService", ...cart };

async function open(options: Partial<KubernetesSourceOptions> = {}) {
  const server = await startApiServer({ types, namespaces: ["shop"], bookmarkIntervalMs: 200 });
  onTestFinished(() => server.stop());
  const client = createApiClient(await parseKubeconfig(server.kubeconfig.yaml));
  onTestFinished(() => client.close());
  await server.objects.create(route("old"));
  const kinds = [namespaceKind, serviceKind, secretKind, virtualServiceKind];
  const source = new KubernetesSource({ cluster: "Kubernetes", reader: clusterReader(client), kinds, ...options });
  const ingestion = new Ingestion(new Database<unknown>(), [source]);
  onTestFinished(() => ingestion.stop());
  await ingestion.ready;
  const isCurrent = (): Promise<boolean> => source.isCurrent(virtualServiceKind, cart);
  /** Ends the watch of VirtualServices. The next one waits until `clear`. */
  const delayWatch = async (): Promise<void> => {
    await server.faults.delayRequests({ ...watches, delayMs: 600_000 });
    await server.faults.dropConnections("end", watches);
  };
  const resumeWatch = async (): Promise<void> => {
    await server.faults.clear();
    await server.faults.dropConnections("reset", watches);
  };
  return { server, client, source, isCurrent, delayWatch, resumeWatch };
}

test("an object is not current from an edit, a deletion or a creation until the watch has delivered it", async () => {
  const { server, isCurrent, delayWatch, resumeWatch } = await open();
  expect(await isCurrent()).toBe(true);
  for (const write of [
    () => server.objects.apply(route("new")),
    () => server.objects.delete(reference),
    () => server.objects.create(route("newer")),
  ]) {
    await delayWatch();
    expect(await isCurrent()).toBe(true);
    await write();
    expect(await isCurrent()).toBe(false);
    await resumeWatch();
    await expect.poll(isCurrent).toBe(true);
  }
});

test("an object that is ignored because of its revision is current, also after edits", async () => {
  const { server, isCurrent } = await open();
  await server.objects.apply(route("new", { "istio.io/rev": "other" }));
  await expect.poll(isCurrent).toBe(true);
  await server.objects.apply(route("newer", { "istio.io/rev": "other" }));
  await expect.poll(isCurrent).toBe(true);
});

test("only watched objects are compared: their namespace, kind and fields are those of the watch", async () => {
  const { server, source } = await open({ namespace: "shop" });
  await server.objects.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "other" } });
  await server.objects.create({ ...route("elsewhere"), metadata: { name: "cart", namespace: "other" } });
  expect(await source.isCurrent(virtualServiceKind, { namespace: "other", name: "cart" })).toBe(true);
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "release", namespace: "shop" } };
  await server.objects.create({ ...secret, type: "helm.sh/release.v1" });
  expect(await source.isCurrent(secretKind, { namespace: "shop", name: "release" })).toBe(true);
});

test("a name with the characters of field selectors selects no other object", async () => {
  const { source } = await open();
  const named = (name: string): Promise<boolean> => source.isCurrent(virtualServiceKind, { namespace: "shop", name });
  expect(await named("none,metadata.name=cart")).toBe(true);
  expect(await named("none,metadata.name!=none")).toBe(true);
});

test("an API server that does not answer is an error", async () => {
  const { server, isCurrent } = await open();
  await server.faults.failRequests({ status: 503, times: 1_000_000 });
  await expect(isCurrent()).rejects.toMatchObject({ code: "unavailable" });
});
