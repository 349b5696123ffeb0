import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startOriginal } from "@istiod/bench";
import { startCluster } from "@istiod/cluster";
import { type ApiClient, createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import { customResourceDefinitions, readProtos } from "@istiod/manifests";
import type { MeshObject } from "@istiod/gateway-api/testing";
import type { Closers } from "@istiod/runtime";
import { EnvoyClient, type Target } from "@istiod/xds-server/testing";
import type { Node } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { parseAllDocuments } from "yaml";
import { createObject, deleteObject, listObjects, type StoredObject } from "./api-objects.js";

export interface OriginalMeshOptions {
  /** Istio's pilot-discovery. */
  readonly binary: string;
  /** Folders with CustomResourceDefinitions, in addition to those of Istio. */
  readonly definitions: readonly string[];
  /** Environment variables of pilot-discovery. */
  readonly env: Readonly<Record<string, string>>;
  /** Objects that all meshes have. */
  readonly base: readonly MeshObject[];
  /** Milliseconds without a change of a status after which the statuses are complete. */
  readonly quietMs: number;
}

/** Milliseconds in which statuses must be complete. */
const mostMs = 600_000;
const timeoutMs = 30_000;
/** Number of requests to the API server at the same time. */
const concurrency = 32;

/** An API server, and Istio's pilot-discovery that reads it and writes statuses. */
export class OriginalMesh {
  readonly #client: ApiClient;
  readonly #target: Target;
  readonly #quietMs: number;
  #applied: readonly MeshObject[] = [];

  private constructor(client: ApiClient, target: Target, quietMs: number) {
    this.#client = client;
    this.#target = target;
    this.#quietMs = quietMs;
  }

  /** @throws Error if there is no API server, or one of both does not start */
  static async start(
    closers: Closers,
    { binary, definitions, env, base, quietMs }: OriginalMeshOptions,
  ): Promise<OriginalMesh> {
    const work = await mkdtemp(join(tmpdir(), "original-mesh-"));
    closers.defer(() => rm(work, { recursive: true, force: true }));
    const cluster = await startCluster();
    closers.defer(() => cluster.stop());
    const client = createApiClient(await parseKubeconfig(cluster.kubeconfig), { qps: 10_000, burst: 10_000 });
    closers.defer(() => client.close());
    await define(client, [
      ...customResourceDefinitions(await readProtos()),
      ...(await Promise.all(definitions.map(definitionsIn))).flat(),
    ]);
    const root: MeshObject = { apiVersion: "v1", kind: "Namespace", metadata: { name: "istio-system" } };
    for (const object of [root, ...base]) {
      const rejected = await createObject(client, object);
      if (rejected !== undefined) throw new Error(rejected);
    }
    const kubeconfig = join(work, "kubeconfig");
    await writeFile(kubeconfig, cluster.kubeconfig, { mode: 0o600 });
    const meshConfig = join(work, "default-mesh.yaml");
    await writeFile(meshConfig, "{}\n");
    const istio = await startOriginal(binary, { kubeconfig, work, debounce: "50ms", flags: { meshConfig }, env });
    closers.defer(() => istio.stop());
    return new OriginalMesh(client, { host: "127.0.0.1", port: istio.port }, quietMs);
  }

  /**
   * Replaces the objects that were applied before, and waits until their statuses are complete.
   *
   * @param waves objects that are created together; each wave is at least a second older than the next one
   * @returns all objects with their statuses, and the reasons for which some are rejected
   */
  async apply(
    waves: readonly (readonly MeshObject[])[],
  ): Promise<{ readonly stored: readonly StoredObject[]; readonly rejected: readonly string[] }> {
    await inTurns(this.#applied, (object) => deleteObject(this.#client, object));
    // The shadow Services of InferencePools are left over, since nobody collects garbage.
    const left = (await listObjects(this.#client)).filter(isShadow);
    await inTurns(left, (object) => deleteObject(this.#client, object));
    // Statuses of new objects must not be computed from former ones.
    if (this.#applied.length > 0) await sleep(this.#quietMs);
    this.#applied = waves.flat();
    const rejected: string[] = [];
    for (const [index, wave] of waves.entries()) {
      if (index > 0) await sleep(1_050);
      const results = await inTurns(wave, (object) => createObject(this.#client, object));
      rejected.push(...results.filter((each) => each !== undefined));
    }
    return { stored: await this.settled(), rejected };
  }

  /** Returns all objects once their statuses have not changed for a while. */
  async settled(): Promise<readonly StoredObject[]> {
    const end = performance.now() + mostMs;
    let [before, since] = ["", performance.now()];
    for (;;) {
      const stored = await listObjects(this.#client, "with statuses");
      const now = JSON.stringify(stored.map(({ metadata, status }) => [metadata.name, status]));
      if (now !== before) [before, since] = [now, performance.now()];
      else if (performance.now() - since > this.#quietMs) return await listObjects(this.#client);
      if (performance.now() > end) throw new Error(`statuses still change after ${mostMs} ms`);
      await sleep(this.#quietMs / 3);
    }
  }

  /** Returns the encoded resources of a proxy by name, for each of some types. */
  async resources(node: Node, types: readonly string[]): Promise<readonly ReadonlyMap<string, Uint8Array>[]> {
    const envoy = new EnvoyClient(this.#target, { variant: "sotw", node });
    try {
      const isComplete = await Promise.race([
        envoy.initialized().then(() => true),
        sleep(timeoutMs, false, { ref: false }),
      ]);
      if (!isComplete) throw new Error(`no complete configuration of ${node.id} after ${timeoutMs} ms`);
      return types.map((type) => new Map([...envoy.resources(type)].map(([name, { bytes }]) => [name, bytes])));
    } finally {
      envoy.close();
    }
  }
}

/** Returns the results of a request for each item, of which a limited number is made at the same time. */
async function inTurns<T, R>(items: readonly T[], request: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  const rest = items.entries();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (const [at, item] of rest) results[at] = await request(item);
    }),
  );
  return results;
}

const isShadow = ({ kind, metadata }: StoredObject): boolean =>
  kind === "Service" && "istio.io/inferencepool-name" in (metadata.labels ?? {});

async function define(client: ApiClient, definitions: readonly object[]): Promise<void> {
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  for (const each of definitions) await client.json({ method: "POST", path, body: JSON.stringify(each) });
  const isEstablished = async (): Promise<boolean> => {
    interface Definition {
      readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
    }
    const { items } = await client.json<{ items: readonly Definition[] }>({ path });
    return items.every(({ status }) =>
      status?.conditions?.some(({ type, status: value }) => type === "Established" && value === "True"),
    );
  };
  for (const end = performance.now() + timeoutMs; !(await isEstablished()); await sleep(100))
    if (performance.now() > end) throw new Error(`definitions are not established after ${timeoutMs} ms`);
}

async function definitionsIn(folder: string): Promise<readonly object[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".yaml"));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return texts
    .flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as { kind?: string } | null))
    .filter((object) => object?.kind === "CustomResourceDefinition") as object[];
}
