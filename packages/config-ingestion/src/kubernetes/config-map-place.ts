import { type ApiClient, Reflector, type ReflectorState } from "@istiod/kubernetes";
import type { DocumentPlace, PlacedText } from "../mesh/document-place.js";
import { describeMissing } from "./missing-permission.js";
import { IngestionError } from "../errors.js";
import { processClock } from "../ingestion/process-clock.js";
import { reasonKindOf, type SyncState } from "../ingestion/sync-state.js";

const configMaps = { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true };

export interface ConfigMapPlaceOptions {
  readonly client: ApiClient;
  readonly namespace: string;
  readonly configMap: string;
  /** Key of the document. */
  readonly key: string;
  /**
   * Called when attempts to read it for the first time fail, and when the kind of their error changes. The attempts
   * continue.
   */
  onWaiting?(error: Error): void;
}

interface ConfigMap {
  readonly data?: Readonly<Record<string, string>>;
}

/** Returns the name that a ConfigMap of an installation has for a revision; empty is `default`, which adds nothing. */
export const revisedName = (name: string, revision: string): string =>
  revision === "" || revision === "default" ? name : `${name}-${revision}`;

/** A key of a ConfigMap that holds one document. A document that cannot be read for a while stays as it was. */
export class ConfigMapPlace implements DocumentPlace {
  readonly name: string;
  readonly #options: ConfigMapPlaceOptions;
  #reflector: Reflector<ConfigMap> | undefined;
  #text: string | undefined;
  #waitingKind: string | undefined;
  #sync: SyncState = { state: "syncing" };

  constructor(options: ConfigMapPlaceOptions) {
    this.#options = options;
    this.name = `ConfigMap ${options.namespace}/${options.configMap}, key ${options.key}`;
  }

  /** Resolves when it is known whether the document exists. */
  async start(changed: () => void): Promise<void> {
    const { client, namespace, configMap, key } = this.#options;
    await new Promise<void>((resolve, reject) => {
      this.#reflector = new Reflector<ConfigMap>({
        client,
        resource: configMaps,
        namespace,
        fieldSelector: `metadata.name=${configMap}`,
        fields: { fields: { data: { [key]: true } } },
        handler: {
          events: (events) => {
            for (const event of events) this.#text = event.type === "set" ? event.object.data?.[key] : undefined;
            changed();
          },
          state: (state) => {
            this.#setState(state);
            changed();
            if (state.phase === "synced") resolve();
            if (state.phase === "syncing" && state.error !== undefined) this.#wait(state.error);
            if (state.phase === "forbidden")
              reject(new IngestionError("unreadable", `${this.name}: ${this.#describe(state)}`));
          },
        },
      });
      this.#reflector.start();
    });
  }

  async read(): Promise<PlacedText> {
    return { text: this.#text };
  }

  /** Synced, or stale once it cannot be read any more. */
  syncState(): SyncState {
    return this.#sync;
  }

  stop(): void {
    this.#reflector?.stop();
  }

  #wait(error: Error): void {
    const kind = reasonKindOf(error);
    if (kind === this.#waitingKind) return;
    this.#waitingKind = kind;
    this.#options.onWaiting?.(error);
  }

  #setState(state: ReflectorState): void {
    if (state.phase === "synced") this.#sync = { state: "synced" };
    else if (this.#sync.state !== "syncing" && state.error !== undefined) {
      const { error } = state;
      const since = this.#sync.state === "synced" ? processClock.now() : this.#sync.since;
      this.#sync = {
        state: "stale",
        since,
        reason: this.#describe({ ...state, error }),
        reasonKind: reasonKindOf(error),
      };
    }
  }

  #describe({ phase, error }: { readonly phase: ReflectorState["phase"]; readonly error: Error }): string {
    const { namespace } = this.#options;
    return phase === "forbidden" ? describeMissing([{ resource: configMaps, namespace, error }]) : error.message;
  }
}
