import type { RemoteClusterChange } from "@istiod/config-ingestion";
import { type ApiClient, ApiError, type KubernetesObject, readObject, withRetries } from "@istiod/kubernetes";
import type { ControllerLog } from "../controller/log.js";

export interface RemoteControllersOptions {
  readonly connect: (kubeconfig: string) => Promise<ApiClient>;
  /** Starts the controllers of a cluster. Returns a function that ends them. */
  readonly start: (cluster: string, client: ApiClient, signal: AbortSignal) => Promise<() => Promise<void>>;
  readonly log: Pick<ControllerLog, "warn">;
}

/** Runs the controllers of remote clusters, each with a client of its own, while these are connected. */
export class RemoteControllers {
  readonly #options: RemoteControllersOptions;
  readonly #running = new Map<string, { readonly stopping: AbortController; readonly ended: Promise<void> }>();

  constructor(options: RemoteControllersOptions) {
    this.#options = options;
  }

  change(change: RemoteClusterChange): void {
    const cluster = change.type === "remove" ? change.cluster : change.remote.cluster;
    const former = this.#running.get(cluster);
    former?.stopping.abort();
    this.#running.delete(cluster);
    if (change.type === "remove") return;
    const stopping = new AbortController();
    const ended = this.#run(change.remote, stopping.signal, former?.ended);
    this.#running.set(cluster, { stopping, ended });
  }

  async stop(): Promise<void> {
    const all = [...this.#running.values()];
    this.#running.clear();
    for (const { stopping } of all) stopping.abort();
    await Promise.all(all.map(({ ended }) => ended));
  }

  async #run(
    { cluster, kubeconfig }: { readonly cluster: string; readonly kubeconfig: string },
    signal: AbortSignal,
    former: Promise<void> | undefined,
  ): Promise<void> {
    const { connect, start, log } = this.#options;
    await former;
    let client: ApiClient | undefined;
    try {
      client = await connect(kubeconfig);
      const stop = await start(cluster, client, signal);
      await aborted(signal);
      await stop();
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error, cluster }, `controllers of cluster ${cluster}: ${String(error)}`);
    } finally {
      client?.close();
    }
  }
}

const controlPlanes = "topology.istio.io/controlPlaneClusters";

/**
 * Reports whether a remote cluster names this istiod's cluster as one that controls it, in an annotation of the
 * namespace of istiod. Asks until the cluster answers.
 */
export async function isControlledFrom(
  ownCluster: string,
  {
    client,
    namespace,
    signal,
  }: { readonly client: ApiClient; readonly namespace: string; readonly signal: AbortSignal },
): Promise<boolean> {
  const type = { group: "", version: "v1", kind: "Namespace", plural: "namespaces", namespaced: false };
  const read = async (): Promise<KubernetesObject> => readObject(client, type, { name: namespace }, signal);
  const attempts = { attempts: Number.MAX_SAFE_INTEGER, deadlineMs: Number.MAX_SAFE_INTEGER, signal };
  try {
    const { metadata } = await withRetries(read, attempts);
    const named = metadata?.annotations?.[controlPlanes]?.split(",") ?? [];
    return named.some((cluster) => cluster === "*" || cluster === ownCluster);
  } catch (error) {
    if (error instanceof ApiError && error.code === "not-found") return false;
    throw error;
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
