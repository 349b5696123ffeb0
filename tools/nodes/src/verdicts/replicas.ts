import { readdir, readFile } from "node:fs/promises";
import type { ApiClient } from "@istiod/kubernetes";
import type { Pod } from "../kube/objects.js";
import { SYSTEM_NAMESPACE } from "../sample/install-bookinfo.js";

/** A replica of istiod that runs on a node of this machine. */
export interface LocalReplica {
  readonly name: string;
  readonly pid: number;
}

/** Returns the replicas of istiod whose Pods run, in the order of their names. */
export async function runningReplicas(client: ApiClient): Promise<readonly LocalReplica[]> {
  const query = { labelSelector: "app=istiod" };
  const path = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/pods`;
  const { items } = await client.json<{ items: readonly Pod[] }>({ path, query });
  const names = items
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map((pod) => pod.metadata.name);
  const processes = await processesByPod();
  return names.sort().flatMap((name) => {
    const pid = processes.get(name);
    return pid === undefined ? [] : [{ name, pid }];
  });
}

/** Returns the processes of istiod by the names of their Pods, which their environment has. */
async function processesByPod(): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const read = (file: string): Promise<readonly string[]> =>
      readFile(`/proc/${pid}/${file}`, "utf8").then(
        (text) => text.split("\0"),
        () => [],
      );
    if (!(await read("cmdline")).includes("discovery")) continue;
    const name = (await read("environ")).find((entry) => entry.startsWith("POD_NAME="))?.slice("POD_NAME=".length);
    if (name !== undefined) found.set(name, Number(pid));
  }
  return found;
}
