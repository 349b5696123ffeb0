import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ObjectInput } from "@istiod/kubernetes/testing";
import { expect, test, vi } from "vitest";
import {
  accessTo,
  clusterWithCart,
  clusterz,
  Endpoints,
  endpoint,
  remoteSecret,
  secretNamed,
  series,
  serveCluster,
  until,
} from "./remote-mesh.js";
import { folder, serve } from "./serving.js";

const own = "10.1.0.1:8080";
const east = "10.2.0.1:8080";
const north = "10.3.0.1:8080";

test("a Secret adds the endpoints of its clusters, and its deletion removes them", async () => {
  const config = await clusterWithCart("10.1.0.1");
  const remotes = { east: await clusterWithCart("10.2.0.1"), north: await clusterWithCart("10.3.0.1") };
  const both = { east: accessTo(remotes.east), north: accessTo(remotes.north) };
  await config.objects.create(remoteSecret("remotes", both));
  const istiod = await serveCluster(config);
  expect(await clusterz(istiod)).toEqual([
    { id: "Kubernetes", secretName: "", syncStatus: "synced" },
    { id: "east", secretName: "istio-system/remotes", syncStatus: "synced" },
    { id: "north", secretName: "istio-system/remotes", syncStatus: "synced" },
  ]);
  expect(await (await fetch(`${istiod.http}/ready?verbose`)).text()).toContain(
    "[+]Remote clusters (Secrets in namespace istio-system): current\n",
  );
  const proxy = new Endpoints(istiod);
  await proxy.become(own, east, north);
  expect(proxy.seen).toHaveLength(1);
  for (const object of endpoint("cart-1", "10.2.0.2")) await remotes.east.objects.create(object);
  await proxy.become(own, east, "10.2.0.2:8080", north);

  await config.objects.update(remoteSecret("remotes", { north: both.north }));
  await proxy.become(own, north);
  expect(await series(istiod, "istiod_managed_clusters")).toEqual([
    'istiod_managed_clusters{cluster_type="local"} 1',
    'istiod_managed_clusters{cluster_type="remote"} 1',
  ]);
  await config.objects.delete(secretNamed("remotes"));
  await proxy.become(own);
  expect(await clusterz(istiod)).toHaveLength(1);
  expect(await series(istiod, "remote_cluster_secret_events_total")).toEqual([
    'remote_cluster_secret_events_total{event="add"} 1',
    'remote_cluster_secret_events_total{event="update"} 1',
    'remote_cluster_secret_events_total{event="delete"} 1',
  ]);
  await vi.waitFor(async () => expect(await remotes.north.faults.dropConnections("end", {})).toBe(0), until);
}, 180_000);

/** Istio's role for remote clusters, bound to one user. */
function binding(user: string): ObjectInput {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: user },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "istio-reader" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
  };
}
const verbs = ["get", "list", "watch"];
const readerRole: ObjectInput = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name: "istio-reader" },
  rules: [
    { apiGroups: [""], resources: ["pods", "services", "nodes", "namespaces", "secrets", "configmaps"], verbs },
    { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs },
    { apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs },
  ],
};

test("credentials are rotated 20 times without a lost endpoint, with the permissions of Istio's reader", async () => {
  const config = await clusterWithCart("10.1.0.1");
  const names = Array.from({ length: 21 }, (_, i) => `reader-${i}`);
  const users = Object.fromEntries(names.map((username) => [`token-of-${username}`, { username }]));
  const remote = await clusterWithCart("10.2.0.1", { users });
  await remote.objects.create(readerRole);
  for (const name of names) await remote.objects.create(binding(name));
  const secret = (i: number): ObjectInput => remoteSecret("east", { east: accessTo(remote, `token-of-reader-${i}`) });
  await config.objects.create(secret(0));
  const istiod = await serveCluster(config);
  const proxy = new Endpoints(istiod);
  await proxy.become(own, east);
  const updates = (): number => istiod.lines.filter(({ msg }) => msg === "Update cluster").length;
  // The first ten are waited for one by one. The others may replace one that has not synced yet.
  for (let i = 1; i <= 20; i++) {
    await config.objects.update(secret(i));
    if (i > 10) continue;
    await vi.waitFor(() => expect(updates()).toBe(i), until);
    await vi.waitFor(async () => expect((await clusterz(istiod))[1]?.reason).toBeUndefined(), until);
  }
  for (const name of names.slice(0, -1))
    await remote.objects.delete({ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding", name });
  await vi.waitFor(async () => {
    expect(updates()).toBeGreaterThan(10);
    expect((await clusterz(istiod))[1]).toEqual({ id: "east", secretName: "istio-system/east", syncStatus: "synced" });
  }, until);
  // Watches of former credentials are closed, and the last ones may open them again.
  await remote.faults.dropConnections("end", { watch: true });
  for (const object of endpoint("cart-1", "10.2.0.2")) await remote.objects.create(object);
  await proxy.become(own, east, "10.2.0.2:8080");
  expect(proxy.seen.filter((addresses) => !addresses.includes(east) || !addresses.includes(own))).toEqual([]);
  expect((await clusterz(istiod))[1]?.syncStatus).toBe("synced");
  const watchedSlices = { pathPrefix: "/apis/discovery.k8s.io", watch: true };
  await vi.waitFor(async () => expect(await remote.faults.dropConnections("end", watchedSlices)).toBe(1), until);
}, 240_000);

test("startup goes on without a cluster that does not answer, and it is added when it does", async () => {
  const config = await clusterWithCart("10.1.0.1");
  const remote = await clusterWithCart("10.2.0.1");
  await remote.faults.freeze();
  await config.objects.create(remoteSecret("east", { east: accessTo(remote) }));
  const istiod = await serveCluster(config, {}, { PILOT_REMOTE_CLUSTER_TIMEOUT: "100ms" });
  const proxy = new Endpoints(istiod);
  await proxy.become(own);
  expect((await clusterz(istiod))[1]).toMatchObject({
    id: "east",
    syncStatus: "timeout",
    reason: expect.stringContaining("it did not sync within 100 ms") as string,
  });
  expect(await (await fetch(`${istiod.http}/ready`)).text()).toMatch(/^source Cluster east: timeout since /);
  expect(await series(istiod, "remote_cluster_sync_timeouts_total")).toEqual([
    'remote_cluster_sync_timeouts_total{cluster="east"} 1',
  ]);
  expect(await series(istiod, "istiod_remote_cluster_sync_status")).toContain(
    'istiod_remote_cluster_sync_status{cluster="east",cluster_type="remote",status="timeout"} 1',
  );
  await remote.faults.thaw();
  await proxy.become(own, east);
  await vi.waitFor(async () => expect((await clusterz(istiod))[1]?.syncStatus).toBe("synced"), until);
}, 180_000);

test("a cluster that is down at startup is added when it is up", async () => {
  const config = await clusterWithCart("10.1.0.1");
  const down = await clusterWithCart("10.2.0.1");
  await down.stop();
  await config.objects.create(remoteSecret("east", { east: accessTo(down) }));
  const istiod = await serveCluster(config, {}, { PILOT_REMOTE_CLUSTER_TIMEOUT: "100ms" });
  expect((await clusterz(istiod))[1]).toMatchObject({
    syncStatus: "timeout",
    reason: expect.stringContaining("ECONNREFUSED") as string,
  });
  const proxy = new Endpoints(istiod);
  await proxy.become(own);
  const users = { [down.tokens.admin]: { username: "admin", groups: ["system:masters"] } };
  await clusterWithCart("10.2.0.1", { port: Number(new URL(down.url).port), users });
  await proxy.become(own, east);
}, 180_000);

test("a cluster that flaps or goes away keeps its endpoints, and is followed when it is back", async () => {
  const config = await clusterWithCart("10.1.0.1");
  const remote = await clusterWithCart("10.2.0.1");
  await config.objects.create(remoteSecret("east", { east: accessTo(remote) }));
  const istiod = await serveCluster(config);
  const proxy = new Endpoints(istiod);
  await proxy.become(own, east);
  for (const mode of ["end", "abort", "reset", "reset"] as const) await remote.faults.dropConnections(mode, {});
  await remote.faults.failRequests({ status: 503, times: 1_000_000 });
  await remote.faults.dropConnections("reset", {});
  await vi.waitFor(async () => expect((await clusterz(istiod))[1]?.syncStatus).toBe("stale"), until);
  for (const object of endpoint("cart-1", "10.2.0.2")) await remote.objects.create(object);
  await remote.faults.clear();
  await proxy.become(own, east, "10.2.0.2:8080");
  await vi.waitFor(async () => expect((await clusterz(istiod))[1]?.syncStatus).toBe("synced"), until);
  expect(proxy.seen).toEqual([
    [own, east],
    [own, east, "10.2.0.2:8080"],
  ]);
}, 180_000);

test("a kubeconfig that could run a program is rejected by name, and the last good one stays active", async () => {
  const config = await clusterWithCart("10.1.0.1");
  const remote = await clusterWithCart("10.2.0.1");
  await config.objects.create(remoteSecret("remotes", { east: accessTo(remote) }));
  const istiod = await serveCluster(config);
  const proxy = new Endpoints(istiod);
  await proxy.become(own, east);
  const marker = join(await folder({}), "marker");
  const exec = { exec: { apiVersion: "client.authentication.k8s.io/v1", command: "touch", args: [marker] } };
  await config.objects.update(remoteSecret("remotes", { east: accessTo(remote, exec), north: "" }));
  const problems = (): readonly string[] => istiod.lines.map(({ msg }) => msg).filter((msg) => msg.includes("remotes"));
  await vi.waitFor(() => expect(problems()).toHaveLength(2), until);
  expect(problems()[0]).toContain(
    'Secret istio-system/remotes: cluster east: kubeconfig: users["reader"].user.exec: is not allowed, because it could ' +
      "disclose credentials of istiod; PILOT_INSECURE_MULTICLUSTER_KUBECONFIG_OPTIONS=exec allows it; " +
      "the last good kubeconfig stays active",
  );
  expect(problems()[1]).toContain("Secret istio-system/remotes: cluster north: kubeconfig: is empty");
  await expect(rm(marker)).rejects.toThrow("ENOENT");
  for (const object of endpoint("cart-1", "10.2.0.2")) await remote.objects.create(object);
  await proxy.become(own, east, "10.2.0.2:8080");
}, 180_000);

test("of two Secrets for a cluster the first is used, and the other after it without a lost endpoint", async () => {
  const config = await clusterWithCart("10.1.0.1");
  const remote = await clusterWithCart("10.2.0.1", { users: { "another-token-0001": { username: "reader-0" } } });
  await remote.objects.create(readerRole);
  await remote.objects.create(binding("reader-0"));
  await config.objects.create(remoteSecret("b", { east: accessTo(remote) }));
  await config.objects.create(remoteSecret("a", { east: accessTo(remote, "another-token-0001"), Kubernetes: "x" }));
  const istiod = await serveCluster(config);
  const warnings = istiod.lines.map(({ msg }) => msg).filter((msg) => msg.includes("is ignored"));
  expect(warnings).toEqual([
    expect.stringContaining("Kubernetes is the cluster of this istiod's configuration, and is ignored"),
    expect.stringContaining("cluster east is ignored, because Secret istio-system/a gives access to it"),
  ]);
  const proxy = new Endpoints(istiod);
  await proxy.become(own, east);
  await config.objects.delete(secretNamed("a"));
  await vi.waitFor(async () => {
    const [, line] = await clusterz(istiod);
    expect(line).toEqual({ id: "east", secretName: "istio-system/b", syncStatus: "synced" });
  }, until);
  for (const object of endpoint("cart-1", "10.2.0.2")) await remote.objects.create(object);
  await proxy.become(own, east, "10.2.0.2:8080");
  expect(proxy.seen.every((addresses) => addresses.includes(east))).toBe(true);
}, 180_000);

test("PILOT_MULTICLUSTER_KUBECONFIG_PATH names a directory of kubeconfigs, which is followed", async () => {
  const config = await clusterWithCart("10.1.0.1");
  const remotes = [await clusterWithCart("10.2.0.1"), await clusterWithCart("10.3.0.1")] as const;
  const named = (id: string, at: 0 | 1): string => accessTo(remotes[at]).replaceAll('"remote"', JSON.stringify(id));
  const directory = await folder({ "east.yaml": named("east", 0) });
  await config.objects.create(remoteSecret("unused", { north: accessTo(remotes[1]) }));
  const istiod = await serveCluster(config, {}, { PILOT_MULTICLUSTER_KUBECONFIG_PATH: directory });
  expect((await clusterz(istiod)).slice(1)).toEqual([
    { id: "east", secretName: join(directory, "east.yaml"), syncStatus: "synced" },
  ]);
  const proxy = new Endpoints(istiod);
  await proxy.become(own, east);
  await writeFile(join(directory, "north.yml"), named("north", 1));
  await proxy.become(own, east, north);
  await writeFile(join(directory, "east.yaml"), "users: [");
  await vi.waitFor(
    () => expect(istiod.lines.map(({ msg }) => msg).join("\n")).toContain("cluster east: kubeconfig: is not YAML"),
    until,
  );
  await rm(join(directory, "north.yml"));
  await proxy.become(own, east);
  expect(proxy.seen.every((addresses) => addresses.includes(east))).toBe(true);
}, 180_000);

test("access that cannot be read ends the startup with the reason", async () => {
  const server = await clusterWithCart("10.1.0.1");
  const missing = join(await folder({}), "missing");
  await expect(serveCluster(server, {}, { PILOT_MULTICLUSTER_KUBECONFIG_PATH: missing })).rejects.toThrow(
    `kubeconfigs of remote clusters in ${missing}: the directory does not exist`,
  );
  await expect(serve({ configDir: await folder({}), clusterAliases: { a: "east", b: "east" } })).rejects.toThrow(
    "--clusterAliases: east has more than one alias",
  );
}, 120_000);
