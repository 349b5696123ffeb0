import { lockConfigMaps } from "@istiod/config-schema";
import { gatewayStatusLock, locks, runElected } from "@istiod/controllers";
import { createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import { type ApiServer, startApiServer } from "@istiod/kubernetes/testing";
import { FakeClock } from "@istiod/runtime/testing";
import { expect, it, onTestFinished } from "vitest";
import { eventually, RecordedLog } from "./support/cluster.js";

const older = { apiVersion: "v1", kind: "ConfigMap", namespace: "istio-system", name: "istio-gateway-status-leader" };
const recordAnnotation = "control-plane.alpha.kubernetes.io/leader";

async function start(): Promise<ApiServer> {
  const server = await startApiServer({ namespaces: ["istio-system"], authorization: "allow-all" });
  onTestFinished(() => server.stop());
  return server;
}

/** Writes the lock of an earlier release as its holder does: renewed, or released with an empty identity. */
async function hold({ objects }: ApiServer, holderIdentity: string, now: number): Promise<void> {
  const time = new Date(now).toISOString().replace(/\.\d+Z$/, "Z");
  const record = { holderIdentity, leaseDurationSeconds: 30, acquireTime: time, renewTime: time, leaderTransitions: 1 };
  const annotations = { [recordAnnotation]: JSON.stringify(record) };
  const { apiVersion, kind, namespace, name } = older;
  const object = { apiVersion, kind, metadata: { name, namespace, annotations } };
  if (objects.get(older) === undefined) await objects.create(object);
  else await objects.update(object);
}

/** Competes for the lock of statuses, and returns the terms that it led. */
async function compete(server: ApiServer, identity: string, clock: FakeClock): Promise<string[]> {
  const client = createApiClient(await parseKubeconfig(server.kubeconfig.yaml), { qps: 10_000, burst: 10_000 });
  const terms: string[] = [];
  const candidacy = runElected(
    gatewayStatusLock("canary"),
    () => {
      terms.push(identity);
      return { stop: () => undefined };
    },
    {
      client,
      namespace: "istio-system",
      identity,
      revision: "canary",
      defaultRevision: () => "",
      log: new RecordedLog(),
      timing: { clock, dates: clock },
    },
  );
  onTestFinished(async () => {
    await candidacy.stop();
    client.close();
  });
  return terms;
}

const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", namespace: "istio-system" };

it("statuses are written at once where no earlier release has its lock", async () => {
  const server = await start();
  const terms = await compete(server, "new", new FakeClock());
  await eventually(() => expect(terms).toEqual(["new"]));
  expect(server.objects.get({ ...lease, name: "istio-gateway-status-leader-canary" })).toBeDefined();
  expect(server.objects.get(older)).toBeUndefined();
});

it("an earlier release that renews its lock stays the only writer until it releases the lock", async () => {
  const server = await start();
  const clock = new FakeClock();
  await hold(server, "old", clock.now());
  const terms = await compete(server, "new", clock);
  const retry = async (holder: string): Promise<void> => {
    await eventually(() => expect(clock.pending).not.toEqual([]));
    await hold(server, holder, clock.now());
    clock.advance(20_000);
  };
  // Ten times the lease of 30 s of the earlier release.
  for (let renewal = 0; renewal < 15; renewal++) {
    await retry("old");
    expect(terms).toEqual([]);
  }
  await retry("");
  await eventually(() => expect(terms).toEqual(["new"]));
  // The lock is released again, so that control planes of other revisions are not held up.
  const record = server.objects.get(older)?.metadata.annotations?.[recordAnnotation] ?? "{}";
  expect(JSON.parse(record)).toMatchObject({ holderIdentity: "" });
});

it("names all locks in ConfigMaps among those that are not read as configuration", () => {
  const names = Object.values(locks).map(({ name }) => name);
  expect(lockConfigMaps).toEqual(expect.arrayContaining([...names, older.name]));
});
