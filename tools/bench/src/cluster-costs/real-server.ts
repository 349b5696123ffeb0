import { setTimeout as sleep } from "node:timers/promises";
import { startCluster } from "@istiod/cluster";
import { type ApiClient, createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import type { ObjectInput } from "@istiod/kubernetes/testing";
import { customResourceDefinitions, readProtos } from "@istiod/manifests";
import { Backoff } from "@istiod/runtime";
import type { FilledServer } from "./in-memory-server.js";

/** Number of requests at the same time. More make etcd time out on a loaded machine. */
const concurrency = 12;
/** Time within which a request must succeed, in milliseconds, and the delays before it is tried again. */
const retryMs = 120_000;
const delays = { initialMs: 200, maxMs: 5_000 };
const clusterScoped = new Set([
  "CustomResourceDefinition",
  "GatewayClass",
  "MutatingWebhookConfiguration",
  "Namespace",
  "Node",
]);

/** Starts the API server of `@istiod/cluster`. @throws Error if it is not built */
export async function realServer(): Promise<FilledServer> {
  const cluster = await startCluster();
  const { kubeconfig } = cluster;
  const client = createApiClient(await parseKubeconfig(kubeconfig), { qps: 10_000, burst: 10_000 });
  for (const definition of customResourceDefinitions(await readProtos())) await create(client, { ...definition });
  return {
    kubeconfig,
    async create(objects) {
      const namespaces = objects.filter(({ kind }) => kind === "Namespace");
      for (const namespace of namespaces) await create(client, namespace);
      const others = objects.filter(({ kind }) => kind !== "Namespace")[Symbol.iterator]();
      await Promise.all(
        Array.from({ length: concurrency }, async () => {
          for (const object of others) await create(client, object);
        }),
      );
    },
    update: (object) => (object.kind === "Pod" ? patch(client, object, "status") : patch(client, object)),
    async stop() {
      client.close();
      await cluster.stop();
    },
  };
}

/** Creates an object with its status. Definitions may take a moment until their objects can be created. */
async function create(client: ApiClient, object: ObjectInput): Promise<void> {
  const body = JSON.stringify(object);
  await untilDone(async () => {
    try {
      await client.json({ method: "POST", path: collectionOf(object), body });
    } catch (error) {
      if (!isExisting(error)) throw error;
    }
  });
  if (object.kind === "Pod" && "status" in object) await untilDone(() => patch(client, object, "status"));
}

/** Repeats a request that fails, since etcd times out on a loaded machine. */
async function untilDone(request: () => Promise<void>): Promise<void> {
  const until = performance.now() + retryMs;
  for (const backoff = new Backoff(delays); ;) {
    try {
      return await request();
    } catch (error) {
      if (performance.now() > until) throw error;
      await sleep(backoff.next());
    }
  }
}

async function patch(client: ApiClient, object: ObjectInput, subresource?: "status"): Promise<void> {
  const path = [collectionOf(object), object.metadata.name, ...(subresource === undefined ? [] : [subresource])];
  const body = subresource === undefined ? object : { status: object["status"] };
  await client.json({
    method: "PATCH",
    path: path.join("/"),
    contentType: "application/merge-patch+json",
    body: JSON.stringify(body),
  });
}

const isExisting = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "already-exists";

function collectionOf({ apiVersion = "", kind = "", metadata }: ObjectInput): string {
  const name = kind.toLowerCase();
  const plural = /[^aeiou]y$/.test(name) ? `${name.slice(0, -1)}ies` : name.endsWith("s") ? `${name}es` : `${name}s`;
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return clusterScoped.has(kind)
    ? `${root}/${plural}`
    : `${root}/namespaces/${metadata.namespace ?? "default"}/${plural}`;
}
