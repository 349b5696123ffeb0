import { afterAll, beforeAll, expect, it } from "vitest";
import {
  type ApiClient,
  applyIfChanged,
  applyObject,
  createApiClient,
  deleteObject,
  EventRecorder,
  type KubernetesObject,
  LeaderElection,
  leaseLock,
  parseKubeconfig,
  readObject,
  updateObject,
} from "@istiod/kubernetes";
import { type ApiServer, startApiServer } from "@istiod/kubernetes/testing";

const configMaps = { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true };
const name = { namespace: "shop", name: "roots" };
const desired = { metadata: { ...name, labels: { app: "istiod" } }, data: { "root-cert.pem": "ROOT" } };

let server: ApiServer;
let client: ApiClient;
beforeAll(async () => {
  server = await startApiServer({ namespaces: ["shop"] });
  client = createApiClient(await parseKubeconfig(server.kubeconfig.yaml));
});
afterAll(async () => {
  client.close();
  await server.stop();
});

it("an object that the server has stored is not applied again, until it or the desired one changes", async () => {
  const by = { fieldManager: "istiod" };
  const applied = await applyObject(client, configMaps, desired, by);
  expect(await applyIfChanged(client, configMaps, desired, applied, by)).toBeUndefined();
  const changed = { ...desired, data: {} };
  const next = await applyIfChanged(client, configMaps, changed, applied, by);
  expect((next as { data?: object } | undefined)?.data ?? {}).toEqual({});
  await expect(
    applyObject(client, configMaps, { metadata: { ...name, labels: { app: "x" } } }, { fieldManager: "other" }),
  ).rejects.toMatchObject({ code: "conflict", status: 409 });
  await expect(updateObject(client, configMaps, applied)).rejects.toMatchObject({ code: "conflict" });
  await expect(deleteObject(client, configMaps, name, { uid: "other" })).rejects.toMatchObject({ code: "conflict" });
  await deleteObject(client, configMaps, name);
  await expect(readObject(client, configMaps, name)).rejects.toMatchObject({ code: "not-found" });
});

it("a leader writes its Lease and an event, and releases the Lease", async () => {
  const lock = leaseLock(client, { namespace: "shop", name: "leader" });
  const recorder = new EventRecorder(client, { component: "istiod" });
  const election = new LeaderElection({
    lock,
    identity: "istiod-1",
    onStarted: () =>
      recorder.record(
        { apiVersion: "v1", kind: "Namespace", name: "shop" },
        { type: "Normal", reason: "Leading", message: "istiod-1 leads" },
      ),
  });
  const leases = { ...configMaps, group: "coordination.k8s.io", kind: "Lease", plural: "leases" };
  const holder = async (): Promise<unknown> =>
    (
      await readObject<KubernetesObject & { spec: { holderIdentity: string } }>(client, leases, {
        namespace: "shop",
        name: "leader",
      }).catch(() => undefined)
    )?.spec.holderIdentity;
  election.start();
  await expect.poll(holder, { timeout: 20_000 }).toBe("istiod-1");
  await expect.poll(() => election.leadership?.transitions, { timeout: 20_000 }).toBe(0);
  await recorder.flush();
  await election.stop();
  expect(await holder()).toBe("");
  const { items } = await client.json<{ items: { message: string }[] }>({ path: "/api/v1/namespaces/default/events" });
  expect(items.map(({ message }) => message)).toEqual(["istiod-1 leads"]);
});
