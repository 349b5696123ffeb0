import { readFileSync } from "node:fs";
import { join } from "node:path";
import { clusterMetrics } from "@istiod/config-ingestion";
import { MemoryMeter } from "@istiod/metrics/testing";
import { createClock } from "@istiod/runtime";
import { startDiscovery } from "@istiod/istiod";
import type { ApiServer, ObjectInput } from "@istiod/kubernetes/testing";
import { pino } from "pino";
import { expect, onTestFinished, test, vi } from "vitest";
import { createRemoteSecretCommand } from "@istiod/commands";
import { accessTo, clusterWithCart, clusterz, type Istiod, remoteSecret, serveCluster, until } from "./remote-mesh.js";
import { flagValues, folder, serve } from "./serving.js";
import { runStatus } from "./status-command.js";

const page = readFileSync(new URL("../../../docs/troubleshooting.md", import.meta.url), "utf8");

/** Returns the first cells of the rows of a section's first table, without their quotes. */
function rowsOf(section: string): readonly string[] {
  const paragraphs = page.split(`\n## ${section}\n`)[1]?.split("\n\n") ?? [];
  const text = paragraphs.find((paragraph) => paragraph.trimStart().startsWith("| ")) ?? "";
  return [...text.matchAll(/^\| `([^|]+)` \|/gm)].map(([, cell = ""]) => cell);
}

/** Returns a pattern for a message of the page, in which `…` stands for anything. */
function pattern(message: string): RegExp {
  const parts = message.split("…").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(parts.join("[^]*"));
}

async function failure(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "no error",
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
}

/** Access of a user without permissions, or with those of some core resources. */
async function reader(server: ApiServer, token: string, resources: readonly string[] = []): Promise<string> {
  const metadata = { name: "reader" };
  const rbac = "rbac.authorization.k8s.io";
  const rules = [{ apiGroups: [""], resources, verbs: ["get", "list", "watch"] }];
  await server.objects.create({ apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata, rules } as ObjectInput);
  await server.objects.create({
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata,
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "reader" },
    subjects: [{ apiGroup: rbac, kind: "User", name: "reader" }],
  } as ObjectInput);
  return accessTo(server, token);
}

const kubeconfigFile = async (text: string): Promise<string> => join(await folder({ kubeconfig: text }), "kubeconfig");
const token = "token-of-a-reader-1";
const clusterWithReader = (address = "10.2.0.1"): Promise<ApiServer> =>
  clusterWithCart(address, { users: { [token]: { username: "reader" } } });

/** Starts istiod while its API server fails, and returns the warnings of several attempts. */
async function warningsOfWaiting(): Promise<readonly string[]> {
  const server = await clusterWithCart("10.1.0.1");
  await server.faults.failRequests({ status: 503, times: 1_000_000 });
  const warnings: string[] = [];
  const log = pino(
    { level: "warn" },
    { write: (line: string) => void warnings.push((JSON.parse(line) as { readonly msg: string }).msg) },
  );
  const starting = startDiscovery(flagValues({ kubeconfig: await kubeconfigFile(accessTo(server)) }), {}, log, "0.1.0");
  await vi.waitFor(() => expect(server.requests.length).toBeGreaterThan(6), until);
  await server.faults.clear();
  const istiod = await starting;
  onTestFinished(() => istiod.close());
  return warnings.filter((text) => text.includes("istiod is not ready"));
}

async function logged(istiod: Istiod, part: string): Promise<string> {
  return vi.waitFor(() => {
    const found = istiod.lines.find(({ msg }) => msg.includes(part));
    if (found === undefined) throw new Error(`nothing is logged with ${part}`);
    return found.msg;
  }, until);
}

/** Provokes each message, by its beginning in the page. */
const provocations: Readonly<Record<string, () => Promise<string>>> = {
  "kubeconfig FILE": async () => (await failure(serve({ kubeconfig: "no-such-file" }))).replace("no-such-file", "FILE"),
  "ConfigMap istio-system/istio": async () => {
    const server = await clusterWithReader();
    return failure(serve({ kubeconfig: await kubeconfigFile(await reader(server, token)) }));
  },
  "waiting for the mesh configuration": async () => {
    const [warning = "", ...others] = await warningsOfWaiting();
    // Once, although each attempt fails.
    expect(others).toEqual([]);
    return warning;
  },
  "list and watch of": async () => {
    const server = await clusterWithReader();
    return failure(serve({ kubeconfig: await kubeconfigFile(await reader(server, token, ["configmaps", "secrets"])) }));
  },
  "Secret istio-system/istio-ca-secret": async () => {
    const server = await clusterWithCart("10.1.0.1");
    await server.objects.delete({ apiVersion: "v1", kind: "Namespace", name: "istio-system" });
    return failure(serveCluster(server, { secureGRPCAddr: "127.0.0.1:0" }));
  },
  "--secureGRPCAddr": async () => failure(serve({ configDir: await folder({}), secureGRPCAddr: "127.0.0.1:0" })),
  "Secret NAMESPACE/NAME": async () => {
    const server = await clusterWithCart("10.1.0.1");
    await server.objects.create(remoteSecret("remote", { east: "users: [" }));
    return (await logged(await serveCluster(server), "kubeconfig:")).replace("istio-system/remote", "NAMESPACE/NAME");
  },
  "cluster ID is ignored": async () => {
    const server = await clusterWithCart("10.1.0.1");
    const access = accessTo(await clusterWithCart("10.2.0.1"));
    for (const name of ["a", "b"]) await server.objects.create(remoteSecret(name, { east: access }));
    return (await logged(await serveCluster(server), "is ignored")).replace("cluster east is", "cluster ID is");
  },
  "stale: istiod": async () => {
    const server = await clusterWithCart("10.1.0.1");
    const istiod = await serveCluster(server);
    const watches = { watch: true, pathPrefix: "/api/v1/services" };
    await server.faults.delayRequests({ ...watches, delayMs: 600_000 });
    await server.faults.dropConnections("end", watches);
    await server.objects.delete({ apiVersion: "v1", kind: "Service", namespace: "shop", name: "cart" });
    return (await runStatus(istiod, "Service/shop/cart")).text.replace("cluster Kubernetes", "cluster ID");
  },
  "possibly stale": async () => {
    const server = await clusterWithCart("10.1.0.1");
    const istiod = await serveCluster(server);
    await server.faults.failRequests({ status: 503, times: 1_000_000, watch: false });
    return (await runStatus(istiod, "Service/shop/cart")).text.replace("cluster Kubernetes", "cluster ID");
  },
  "istiod status": async () => {
    const url = "http://127.0.0.1:1";
    return (await runStatus({ http: url })).text.replace(url, "URL");
  },
  "Secret …: no": async () => {
    const server = await clusterWithCart("10.1.0.1", { secretTokens: false });
    const config = await kubeconfigFile(accessTo(server));
    const clock = { ...createClock(), after: (ms: number, run: () => void) => createClock().after(ms / 100, run) };
    const command = createRemoteSecretCommand(
      { env: { KUBECONFIG: config }, multiClusterGroup: () => "multicluster.x-k8s.io" },
      { print: () => undefined, warn: () => undefined, clock },
    );
    return failure(command.parseAsync(["--name", "east"], { from: "user" }));
  },
};

test.each(rowsOf("Messages"))("docs/troubleshooting.md: %s", { timeout: 120_000 }, async (message) => {
  const provocation = Object.entries(provocations).find(([start]) => message.startsWith(start));
  if (provocation === undefined) throw new Error("no test provokes it");
  expect(await provocation[1]()).toMatch(pattern(message));
});

test("docs/troubleshooting.md has a provoked message for each row", () => {
  const rows = rowsOf("Messages");
  expect(Object.keys(provocations).filter((start) => !rows.some((row) => row.startsWith(start)))).toEqual([]);
});

test("docs/troubleshooting.md has each sync state", () => {
  const meter = new MemoryMeter();
  const states = ["synced", "syncing", "timeout", "stale", "forbidden"];
  const source = { cluster: "east" };
  const state = { source, sync: { state: "synced" }, missedDeadlines: 0, changed: false, problems: [] };
  clusterMetrics(meter, { states: () => [state as never] }, "main");
  const measured = states.map((status) =>
    meter.value("istiod_remote_cluster_sync_status", { cluster: "east", cluster_type: "remote", status }),
  );
  expect(measured).toEqual([1, 0, 0, 0, 0]);
  expect([...rowsOf("Sync states")].sort()).toEqual([...states].sort());
});

test("a remote cluster has each sync state, and new credentials that do not work are reported", async () => {
  const config = await clusterWithCart("10.1.0.1");
  const [good, denied, down] = [
    await clusterWithCart("10.2.0.1"),
    await clusterWithReader(),
    await clusterWithReader(),
  ];
  await down.stop();
  await config.objects.create(remoteSecret("good", { good: accessTo(good) }));
  await config.objects.create(remoteSecret("denied", { denied: await reader(denied, token) }));
  await config.objects.create(remoteSecret("down", { down: accessTo(down) }));
  const istiod = await serveCluster(config, {}, { PILOT_REMOTE_CLUSTER_TIMEOUT: "3s" });
  const of = async (id: string) => (await clusterz(istiod)).find((cluster) => cluster.id === id);
  await vi.waitFor(async () => expect((await of("good"))?.syncStatus).toBe("synced"), until);
  await vi.waitFor(async () => expect((await of("denied"))?.syncStatus).toBe("forbidden"), until);
  expect((await of("denied"))?.reason).toContain('- apiGroups: [""]\n  resources: ["namespaces"');
  expect(await of("down")).toMatchObject({ syncStatus: "timeout", reason: expect.stringContaining("ECONNREFUSED") });
  await config.objects.create(remoteSecret("later", { later: accessTo(down) }));
  await vi.waitFor(async () => expect((await of("later"))?.syncStatus).toBe("syncing"), until);

  await config.objects.update(remoteSecret("good", { good: accessTo(good, "an-expired-token-1") }));
  await vi.waitFor(
    async () =>
      expect(await of("good")).toMatchObject({
        syncStatus: "synced",
        reason: expect.stringMatching(/^new credentials are not used yet: [^]*401 Unauthorized/),
      }),
    until,
  );
  await good.faults.failRequests({ status: 503, times: 1_000_000 });
  await good.faults.dropConnections("reset", {});
  await vi.waitFor(async () => expect((await of("good"))?.syncStatus).toBe("stale"), until);
  const ready = await (await fetch(`${istiod.http}/ready`)).text();
  expect(ready).toMatch(/^source Cluster good: stale since /m);
  expect(await (await fetch(`${istiod.http}/ready?verbose`)).text()).toContain(
    "[-]Cluster good (Secret istio-system/good): stale, ",
  );
  // All problems of sources count for `istiod status` without names.
  const status = await runStatus(istiod);
  expect([status.exit, status.text]).toEqual([3, expect.stringMatching(/error: cluster good: stale since /)]);
}, 180_000);
