import { type ApiClient, Reflector, type ReflectorEvent, type ReflectorState } from "@istiod/kubernetes";
import { type Clock } from "@istiod/runtime";
import { processClock } from "../ingestion/process-clock.js";
import { reasonKindOf, type SyncState } from "../ingestion/sync-state.js";
import { describeMissing } from "../kubernetes/missing-permission.js";
import type { KubeconfigPlace } from "./kubeconfig-place.js";
import type { OfferedClusters } from "./remote-clusters.js";

const secrets = { group: "", version: "v1", kind: "Secret", plural: "secrets", namespaced: true };

/** Label of the Secrets that give access to remote clusters, whose value is `true`. */
export const remoteClusterLabel = "istio/multiCluster";

/** Returns the name of a Secret as an origin of access to clusters. */
export function originOfSecret({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `Secret ${namespace}/${name}`;
}

export interface KubeconfigSecretsOptions {
  readonly client: ApiClient;
  readonly namespace: string;
  readonly clock?: Clock;
}

interface Secret {
  /** In base64. */
  readonly data?: Readonly<Record<string, string>>;
  /** Kubernetes moves it to the data. Servers without its defaults do not. */
  readonly stringData?: Readonly<Record<string, string>>;
}

/**
 * The Secrets of a namespace with the label `istio/multiCluster: "true"`. Each key is the ID of a cluster, and its
 * value a kubeconfig. While the Secrets cannot be read, the clusters stay connected.
 */
export class KubeconfigSecrets implements KubeconfigPlace {
  readonly name: string;
  readonly location: string;
  readonly #options: KubeconfigSecretsOptions;
  readonly #clock: Clock;
  readonly #changes = new Map<string, OfferedClusters>();
  #reflector: Reflector<Secret> | undefined;
  #state: ReflectorState = { phase: "syncing" };
  #hasSynced = false;
  /** Time since which the Secrets may not be read. */
  #faultySince = 0;

  constructor(options: KubeconfigSecretsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? processClock;
    this.location = `Secrets in namespace ${options.namespace}`;
    this.name = `Secrets of remote clusters in namespace ${options.namespace}`;
  }

  async start(changed: () => void): Promise<void> {
    const { client, namespace, clock } = this.#options;
    await new Promise<void>((resolve) => {
      this.#reflector = new Reflector<Secret>({
        client,
        resource: secrets,
        namespace,
        labelSelector: `${remoteClusterLabel}=true`,
        fields: { fields: { data: true, stringData: true } },
        ...(clock && { clock }),
        handler: {
          events: (events) => {
            for (const event of events) this.#record(event);
            changed();
          },
          state: (state) => {
            this.#setState(state);
            if (state.phase === "synced") resolve();
            changed();
          },
        },
      });
      this.#reflector.start();
    });
  }

  async read(): Promise<ReadonlyMap<string, OfferedClusters>> {
    const changes = new Map(this.#changes);
    this.#changes.clear();
    return changes;
  }

  syncState(): SyncState {
    const state = this.#state;
    const { namespace } = this.#options;
    if (state.phase === "synced") return { state: "synced" };
    if (state.error === undefined) return { state: "syncing" };
    const reasonKind = reasonKindOf(state.error);
    if (state.phase === "syncing") return { state: "syncing", reason: state.error.message, reasonKind };
    if (state.phase === "stale") return { state: "stale", since: state.since, reason: state.error.message, reasonKind };
    const reason =
      state.phase === "forbidden"
        ? describeMissing([{ resource: secrets, namespace, error: state.error }])
        : state.error.message;
    return { state: this.#hasSynced ? "stale" : "forbidden", since: this.#faultySince, reason, reasonKind };
  }

  stop(): void {
    this.#reflector?.stop();
  }

  #setState(state: ReflectorState): void {
    if (state.phase !== this.#state.phase) this.#faultySince = this.#clock.now();
    this.#state = state;
    this.#hasSynced ||= state.phase === "synced";
  }

  #record(event: ReflectorEvent<Secret>): void {
    const origin = originOfSecret(event);
    if (event.type === "delete") {
      this.#changes.set(origin, undefined);
      return;
    }
    const { data = {}, stringData = {} } = event.object;
    const kubeconfigs = new Map<string, Uint8Array | string>();
    for (const [cluster, text] of Object.entries(data)) kubeconfigs.set(cluster, Buffer.from(text, "base64"));
    for (const [cluster, text] of Object.entries(stringData)) kubeconfigs.set(cluster, text);
    this.#changes.set(origin, kubeconfigs);
  }
}
