import { clusterUnavailable, startCluster } from "@istiod/cluster";
import { type ApiClient, createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import { type CniPlugin, type Nodes, nodesUnavailable, startNodes } from "@istiod/nodes";
import { afterAll, beforeAll } from "vitest";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { ImageSources } from "../src/agent/images.js";
import type { Pod } from "../src/kube/objects.js";

export const unavailable = (await clusterUnavailable()) ?? (await nodesUnavailable());

/** Long enough for a machine on which everything takes ten times as long. */
export const patience = { timeout: 60_000, interval: 100 };

export interface Rig {
  readonly client: ApiClient;
  readonly kubeconfig: string;
  readonly nodes: Nodes;
  create(path: string, object: object): Promise<void>;
  patch(path: string, object: object): Promise<void>;
  get<T = Pod>(path: string): Promise<T>;
  /** Returns an answer that is not JSON. */
  text(path: string, query: Readonly<Record<string, string | number | boolean>>): Promise<string>;
  pod(name: string): Promise<Pod>;
  pods(labels: string): Promise<Pod[]>;
  /** Returns the output of a container, of all its restarts. */
  logs(pod: string, container: string, namespace?: string): Promise<string>;
  remove(path: string): Promise<void>;
  /** Failures that controllers and nodes have reported. */
  readonly errors: unknown[];
}

/** Images and the plugin of a rig's nodes. */
export interface RigOptions {
  /** Images in addition to those of this machine. */
  readonly images?: ImageSources;
  /** Returns the CNI plugin for a cluster. Default: none. */
  readonly cniPlugin?: (kubeconfig: string) => Promise<CniPlugin>;
}

/** Starts an API server with two nodes for the tests of a file. */
export function useRig({ images = {}, cniPlugin }: RigOptions = {}): { readonly rig: Rig } {
  const holder: { rig: Rig } = {} as { rig: Rig };
  const closers: (() => unknown)[] = [];
  beforeAll(async () => {
    if (unavailable !== undefined) return;
    const cluster = await startCluster();
    closers.push(() => cluster.stop());
    const errors: unknown[] = [];
    const { kubeconfig } = cluster;
    const onError = (error: unknown): unknown => errors.push(error);
    const plugin = cniPlugin && { cniPlugin: await cniPlugin(kubeconfig) };
    const nodes = await startNodes({ kubeconfig, images, restartBackoffMs: 100, onError, ...plugin });
    closers.push(() => nodes.stop());
    const client = createApiClient(await parseKubeconfig(kubeconfig), { qps: 1000, burst: 1000 });
    closers.push(() => client.close());
    holder.rig = rigOf(client, nodes, errors, kubeconfig);
  }, 120_000);
  afterAll(async () => {
    for (const close of closers.reverse()) await close();
  }, 120_000);
  return holder;
}

function rigOf(client: ApiClient, nodes: Nodes, errors: unknown[], kubeconfig: string): Rig {
  const send = async (method: "POST" | "PATCH", path: string, object: object): Promise<void> => {
    const contentType = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    await client.json({ method, path, contentType, body: JSON.stringify(object) });
  };
  const get = <T>(path: string): Promise<T> => client.json<T>({ path });
  const pod = (name: string): Promise<Pod> => get<Pod>(`/api/v1/namespaces/default/pods/${name}`);
  return {
    client,
    kubeconfig,
    nodes,
    errors,
    create: (path, object) => send("POST", path, object),
    patch: (path, object) => send("PATCH", path, object),
    get,
    text: async (path, query) => await text((await client.send({ path, query })).body),
    pod,
    pods: async (labels) => {
      const query = { labelSelector: labels };
      return (await client.json<{ items: Pod[] }>({ path: "/api/v1/namespaces/default/pods", query })).items;
    },
    logs: async (name, container, namespace = "default") => {
      const { metadata, spec } = await get<Pod>(`/api/v1/namespaces/${namespace}/pods/${name}`);
      const folder = join(nodes.directory, spec.nodeName ?? "", metadata.uid, "containers", container);
      const files = (await readdir(folder)).filter((file) => file.endsWith(".log")).sort();
      return (await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")))).join("");
    },
    remove: async (path) => void (await client.json({ method: "DELETE", path })),
  };
}

export const pods = "/api/v1/namespaces/default/pods";
