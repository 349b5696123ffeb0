import type { Kind } from "@istiod/config-schema";
import type { ResourceType } from "@istiod/kubernetes";
import type { Clock } from "@istiod/settings";
import type { SyncState } from "../ingestion/sync-state.js";
import type { WatchState } from "./cluster-reader.js";
import { describeMissing } from "./missing-permission.js";

/** A kind whose sync is tracked. */
export interface TrackedKind {
  readonly kind: Kind;
  readonly resource: ResourceType | undefined;
  readonly namespace: string | undefined;
  readonly state: WatchState | undefined;
  readonly isComplete: boolean;
}

/** Combines the states of the kinds of a cluster. */
export class SyncTracker {
  readonly #kinds: readonly TrackedKind[];
  readonly #clock: Clock;
  #isServedKnown = false;
  #servedFault: { readonly since: number; readonly error: Error } | undefined;
  /** Times since which kinds are forbidden or not served any more. */
  readonly #faultySince = new Map<TrackedKind, number>();
  #hasSynced = false;

  constructor(kinds: readonly TrackedKind[], clock: Clock) {
    this.#kinds = kinds;
    this.#clock = clock;
  }

  servedKnown(): void {
    this.#isServedKnown = true;
    this.#servedFault = undefined;
  }

  servedFailed(error: Error): void {
    this.#servedFault = { since: this.#servedFault?.since ?? this.#clock.now(), error };
  }

  /** Notes the current states. Returns whether all kinds have synced once. */
  update(): boolean {
    for (const kind of this.#kinds) {
      const phase = kind.state?.phase;
      if (phase !== "forbidden" && phase !== "not-served") this.#faultySince.delete(kind);
      else if (!this.#faultySince.has(kind)) this.#faultySince.set(kind, this.#clock.now());
    }
    this.#hasSynced ||= this.#isServedKnown && this.#kinds.every(({ isComplete }) => isComplete);
    return this.#hasSynced;
  }

  state(): SyncState {
    return this.#hasSynced ? this.#stateAfterSync() : this.#stateBeforeSync();
  }

  #stateBeforeSync(): SyncState {
    const missing = this.#kinds.filter(({ state }) => state?.phase === "forbidden");
    const isWaiting = this.#kinds.some(({ state }) => state?.phase === "syncing" && state.error === undefined);
    if (missing.length > 0 && !isWaiting) return this.#forbidden(missing);
    const reason = this.#servedFault?.error.message ?? this.#firstError();
    return reason === undefined ? { state: "syncing" } : { state: "syncing", reason };
  }

  #forbidden(missing: readonly TrackedKind[]): SyncState {
    const permissions = missing.flatMap(({ resource, namespace, state }) =>
      resource !== undefined && state?.phase === "forbidden" ? [{ resource, namespace, error: state.error }] : [],
    );
    return { state: "forbidden", since: this.#since(missing), reason: describeMissing(permissions) };
  }

  #stateAfterSync(): SyncState {
    const faulty = this.#kinds.filter(({ state }) => state !== undefined && "error" in state);
    if (faulty.length === 0 && this.#servedFault === undefined) return { state: "synced" };
    const reasons = faulty.map(({ kind, state }) => `${kind.kind}: ${errorOf(state)?.message}`);
    if (this.#servedFault !== undefined) reasons.unshift(`served kinds: ${this.#servedFault.error.message}`);
    const since = Math.min(this.#since(faulty), this.#servedFault?.since ?? Infinity);
    return { state: "stale", since, reason: reasons.join("; ") };
  }

  #since(kinds: readonly TrackedKind[]): number {
    const times = kinds.map((kind) =>
      kind.state?.phase === "stale" ? kind.state.since : (this.#faultySince.get(kind) ?? this.#clock.now()),
    );
    return Math.min(...times);
  }

  #firstError(): string | undefined {
    for (const { kind, state } of this.#kinds) {
      const error = errorOf(state);
      if (error !== undefined) return `${kind.kind}: ${error.message}`;
    }
    return undefined;
  }
}

function errorOf(state: WatchState | undefined): Error | undefined {
  return state === undefined || state.phase === "synced" ? undefined : state.error;
}
