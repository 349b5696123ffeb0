import type { Problem } from "@istiod/config-schema";
import type { ApiClient } from "@istiod/kubernetes";
import type { Ingestion } from "../ingestion/ingestion.js";
import type { Source, SourceUpdate } from "../ingestion/source.js";
import type { SyncState } from "../ingestion/sync-state.js";
import type { KubeconfigPlace } from "./kubeconfig-place.js";
import { type RemoteObjects, RemoteClusterSource } from "./remote-cluster-source.js";
import {
  type RemoteClusterChange,
  type RemoteClusterProblem,
  RemoteClusters,
  type RemoteClustersOptions,
} from "./remote-clusters.js";

/** Change of a Secret or file of remote clusters, as in Istio's `remote_cluster_secret_events_total`. */
export type KubeconfigEvent = "add" | "update" | "delete";

export interface ConnectedClustersOptions extends RemoteClustersOptions {
  readonly place: KubeconfigPlace;
  /** Ingestion that the clusters' objects are read into. */
  readonly ingestion: Pick<Ingestion<never>, "add" | "replace" | "remove">;
  /** Kinds and scope of the objects that are read from every remote cluster. */
  readonly objects: RemoteObjects;
  /** Returns a client by a sanitized kubeconfig. */
  readonly connect: (kubeconfig: string) => Promise<ApiClient>;
  /**
   * Milliseconds in which a cluster should sync (`PILOT_REMOTE_CLUSTER_TIMEOUT`). After that, the first commit no
   * longer waits for it. Default: it waits for as long as it takes.
   */
  readonly syncTimeout?: number;
  /** Called for each change of a Secret or file. */
  onEvent?(event: KubeconfigEvent): void;
  /** Called after each change of the connected clusters. */
  onChange?(change: RemoteClusterChange): void;
}

/**
 * Connects an ingestion to the remote clusters that Secrets or files give access to. To be added to the ingestion as a
 * source: it has no objects, but the sync state of the Secrets and their problems, and the first commit waits for the
 * clusters that they name.
 *
 * When the credentials of a cluster change, the objects are read with the new ones before the old ones are given up.
 */
export class ConnectedClusters implements Source {
  readonly name: string;
  /** Place of the kubeconfigs. */
  readonly location: string;
  readonly #options: ConnectedClustersOptions;
  readonly #clusters: RemoteClusters;
  /** The source with the newest credentials of each cluster. */
  readonly #sources = new Map<string, RemoteClusterSource>();
  readonly #origins = new Set<string>();

  constructor(options: ConnectedClustersOptions) {
    this.#options = options;
    this.#clusters = new RemoteClusters(options);
    this.name = options.place.name;
    this.location = options.place.location;
  }

  async start(changed: () => void): Promise<void> {
    await this.#options.place.start(changed);
  }

  async read(): Promise<SourceUpdate> {
    const contents = await this.#options.place.read();
    for (const [origin, offered] of contents) this.#count(origin, offered !== undefined);
    for (const change of this.#clusters.update(contents)) {
      this.#apply(change);
      this.#options.onChange?.(change);
    }
    const { place } = this.#options;
    return {
      apply: () => undefined,
      problems: [...(place.problems?.() ?? []), ...this.#clusters.problems().map(describe)],
    };
  }

  syncState(): SyncState {
    return this.#options.place.syncState?.() ?? { state: "synced" };
  }

  stop(): void {
    this.#options.place.stop();
  }

  #apply(change: RemoteClusterChange): void {
    const { ingestion, syncTimeout, objects, connect } = this.#options;
    const cluster = change.type === "remove" ? change.cluster : change.remote.cluster;
    const before = this.#sources.get(cluster);
    if (change.type === "remove") {
      if (before !== undefined) ingestion.remove(before);
      this.#sources.delete(cluster);
      return;
    }
    const { remote } = change;
    const origin = (): string => this.#clusters.originOf(cluster) ?? remote.origin;
    const source = new RemoteClusterSource({ remote, objects, connect, origin });
    const options = syncTimeout === undefined ? {} : { syncTimeout };
    if (before === undefined) ingestion.add(source, options);
    else ingestion.replace(before, source, options);
    this.#sources.set(cluster, source);
  }

  #count(origin: string, exists: boolean): void {
    const existed = this.#origins.has(origin);
    if (exists) this.#origins.add(origin);
    else this.#origins.delete(origin);
    if (exists || existed) this.#options.onEvent?.(!exists ? "delete" : existed ? "update" : "add");
  }
}

function describe({ severity, origin, cluster, message }: RemoteClusterProblem): Problem {
  const subject = cluster === "" ? "" : `cluster ${cluster}: `;
  return { severity, file: origin, line: 0, path: [], message: `${subject}${message}` };
}
