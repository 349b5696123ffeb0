import type { Collection } from "@istiod/incremental";
import type { Source, SourceUpdate } from "../ingestion/source.js";
import type { SyncState } from "../ingestion/sync-state.js";

interface Entry {
  readonly collection: Collection<unknown>;
  readonly key: string;
  readonly value: unknown;
}

export interface ManualSourceOptions {
  readonly name?: string;
  readonly cluster?: string;
}

/** A source whose content, sync and faults a test controls. It has not synced until `sync` is called. */
export class ManualSource implements Source {
  readonly name?: string;
  readonly cluster?: string;
  /** True once the source was stopped. */
  isStopped = false;
  #content = new Map<string, Entry>();
  /** Content that can be seen while the source is cut off. */
  #lastSeen: ReadonlyMap<string, Entry> | undefined;
  #read: ReadonlyMap<string, Entry> = new Map();
  #readFault: Error | undefined;
  #state: SyncState = { state: "syncing" };
  #changed: () => void = () => undefined;
  #settle: { readonly resolve: () => void; readonly reject: (cause: Error) => void } | undefined;

  constructor({ name, cluster }: ManualSourceOptions = {}) {
    if (name !== undefined) this.name = name;
    if (cluster !== undefined) this.cluster = cluster;
  }

  /** Sets an entry. */
  set<V>(collection: Collection<V>, key: string, value: V): void {
    this.#content.set(idOf(collection, key), { collection: collection as Collection<unknown>, key, value });
    this.#announce();
  }

  delete(collection: Collection<unknown>, key: string): void {
    this.#content.delete(idOf(collection, key));
    this.#announce();
  }

  /** Completes the first sync, or ends a time in which the source was stale. */
  sync(): void {
    this.#lastSeen = undefined;
    this.#state = { state: "synced" };
    this.#settle?.resolve();
    this.#changed();
  }

  /** Makes `start` reject. */
  rejectStart(cause: Error): void {
    this.#settle?.reject(cause);
  }

  /** Reports a state. Changes are not seen until `sync` is called. */
  cutOff(state: SyncState): void {
    this.#state = state;
    this.#lastSeen ??= new Map(this.#content);
    this.#changed();
  }

  /** Makes readings fail, or succeed again if undefined. */
  failReads(fault: Error | undefined): void {
    this.#readFault = fault;
    this.#changed();
  }

  /** Returns the entries that a reading would find, as `collection key` and value. */
  get visible(): ReadonlyMap<string, unknown> {
    return new Map([...(this.#lastSeen ?? this.#content)].map(([id, { value }]) => [id, value]));
  }

  start(changed: () => void): Promise<void> {
    this.#changed = changed;
    if (this.#state.state === "synced") return Promise.resolve();
    return new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
  }

  async read(): Promise<SourceUpdate> {
    if (this.#readFault !== undefined) throw this.#readFault;
    const before = this.#read;
    const after = (this.#read = this.#lastSeen ?? new Map(this.#content));
    return {
      problems: [],
      apply: (tx) => {
        for (const [id, { collection, key }] of before) if (!after.has(id)) tx.delete(collection, key);
        for (const [id, entry] of after) if (before.get(id) !== entry) tx.set(entry.collection, entry.key, entry.value);
      },
    };
  }

  syncState(): SyncState {
    return this.#state;
  }

  stop(): void {
    this.isStopped = true;
    this.#changed = () => undefined;
  }

  #announce(): void {
    if (this.#lastSeen === undefined && this.#state.state === "synced") this.#changed();
  }
}

function idOf(collection: Collection<never>, key: string): string {
  return `${collection.name} ${key}`;
}
