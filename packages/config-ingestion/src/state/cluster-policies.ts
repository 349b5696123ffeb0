import type { ConfigObject, Kind, Problem } from "@istiod/config-schema";
import type { StoredVersion } from "../ledger/stored-versions.js";
import type { EntryContent } from "./entry.js";
import { type AcceptedVersion, LastGoodStore, type LastGoodStoreOptions } from "./last-good-store.js";

/** An object of an API server. */
export interface PolicyIdentity {
  readonly kind: Kind;
  readonly key: string;
  readonly uid: string;
}

/**
 * The stored last good versions of the policies of a cluster, by UID: a policy that is deleted and created again has
 * none. Versions are ordered by resource version, so that replicas which see a change at different times agree.
 */
export class ClusterPolicies {
  readonly #store: LastGoodStore;
  /** Accepted versions that are not stored yet, by kind and key. */
  readonly #accepted = new Map<string, AcceptedVersion>();
  #deleted: PolicyIdentity[] = [];

  constructor(options: Omit<LastGoodStoreOptions, "origin">) {
    this.#store = new LastGoodStore({ ...options, origin: "api-server" });
  }

  /** Opens the store. `changed` is called when another process changes it. @throws IngestionError */
  async start(changed: () => void): Promise<void> {
    await this.#store.start(changed);
  }

  stop(): void {
    this.#store.stop();
  }

  problems(): readonly Problem[] {
    return this.#store.problems();
  }

  /** Reports whether there are changes that are not stored yet. */
  get isPending(): boolean {
    return this.#accepted.size + this.#deleted.length > 0;
  }

  /** Returns the last good version of an object; `unknown` if the one in memory is newer. */
  lastGood({ kind, key, uid }: PolicyIdentity): StoredVersion | "none" | "unknown" {
    return this.#accepted.has(idOf(kind, key)) ? "unknown" : this.#store.lastGood(kind, key, uid);
  }

  /** Notes a version that was accepted. */
  accept(policy: PolicyIdentity, object: ConfigObject<unknown, unknown>, resourceVersion: string): void {
    const order = /^\d{1,20}$/.test(resourceVersion) ? BigInt(resourceVersion) : undefined;
    this.#accepted.set(idOf(policy.kind, policy.key), { ...policy, object, file: "", order, isCurrent: false });
  }

  /** Notes that an object was deleted. */
  delete(policy: PolicyIdentity): void {
    this.#accepted.delete(idOf(policy.kind, policy.key));
    this.#deleted.push(policy);
  }

  /** Stores the changes that were noted. */
  async store(): Promise<void> {
    const deleted = this.#deleted;
    const accepted = [...this.#accepted.values()];
    this.#deleted = [];
    await this.#store.forget(deleted);
    await this.#store.record(accepted);
    for (const version of accepted) {
      const id = idOf(version.kind, version.key);
      if (this.#accepted.get(id) === version) this.#accepted.delete(id);
    }
  }

  /** Reads the versions that other processes added. Returns whether any object has another version than before. */
  async refresh(): Promise<boolean> {
    return this.#store.refresh();
  }

  /** Removes the versions of objects that were deleted while no process ran. */
  async removeGone(isGone: (content: EntryContent, order: bigint) => boolean): Promise<void> {
    await this.#store.removeGone(isGone);
  }
}

function idOf(kind: Kind, key: string): string {
  return `${kind.kind}/${key}`;
}
