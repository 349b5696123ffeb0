import type { Kind } from "@istiod/config-schema";
import type { ApiClient } from "@istiod/kubernetes";
import type { ObjectKey, Source, SourceUpdate } from "../ingestion/source.js";
import type { SyncState } from "../ingestion/sync-state.js";
import { clusterReader } from "../kubernetes/api-cluster-reader.js";
import { KubernetesSource, type KubernetesSourceOptions } from "../kubernetes/kubernetes-source.js";
import type { Location } from "../ledger/ledger.js";
import type { RemoteCluster } from "./remote-clusters.js";

/** Kinds and scope of the objects that are read from every remote cluster. */
export type RemoteObjects = Omit<KubernetesSourceOptions, "cluster" | "reader">;

export interface RemoteClusterSourceOptions {
  readonly remote: RemoteCluster;
  readonly objects: RemoteObjects;
  /** Returns a client by a sanitized kubeconfig. */
  readonly connect: (kubeconfig: string) => Promise<ApiClient>;
  /** Returns the Secret or file that gives access now. */
  readonly origin: () => string;
}

/** The objects of a remote cluster, by the credentials of one kubeconfig. Closes its connections when it is stopped. */
export class RemoteClusterSource implements Source {
  readonly name: string;
  readonly cluster: string;
  readonly #options: RemoteClusterSourceOptions;
  #client: ApiClient | undefined;
  #source: KubernetesSource | undefined;
  #isStopped = false;

  constructor(options: RemoteClusterSourceOptions) {
    this.#options = options;
    this.cluster = options.remote.cluster;
    this.name = `cluster ${this.cluster}`;
  }

  /** Client of the cluster; undefined before the source has started, and after it was stopped. */
  get client(): ApiClient | undefined {
    return this.#client;
  }

  /** Secret or file that gives access to the cluster. */
  get origin(): string {
    return this.#options.origin();
  }

  async start(changed: () => void): Promise<void> {
    const { remote, connect, objects } = this.#options;
    const client = await connect(remote.kubeconfig);
    if (this.#isStopped) {
      client.close();
      return;
    }
    this.#client = client;
    this.#source = new KubernetesSource({ ...objects, cluster: this.cluster, reader: clusterReader(client) });
    await this.#source.start(changed);
  }

  async read(): Promise<SourceUpdate> {
    return (await this.#source?.read()) ?? { apply: () => undefined, problems: [] };
  }

  syncState(): SyncState {
    return this.#source?.syncState() ?? { state: "syncing" };
  }

  locate(kind: Kind, key: string): Location | undefined {
    return this.#source?.locate(kind, key);
  }

  async isCurrent(kind: Kind, object: ObjectKey): Promise<boolean> {
    return (await this.#source?.isCurrent(kind, object)) ?? false;
  }

  stop(): void {
    this.#isStopped = true;
    this.#source?.stop();
    this.#client?.close();
    this.#client = undefined;
  }
}
