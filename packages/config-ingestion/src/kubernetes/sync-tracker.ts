import type { Kind } from "@istiod/config-schema";
import type { ResourceType } from "@istiod/kubernetes";
import type { Clock } from "@istiod/runtime";
import { reasonKindOf, type SyncReason, type SyncState } from "../ingestion/sync-state.js";
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

/**
 * Milliseconds for which the first list of a kind may fail after the cluster has synced: a server may refuse it while
 * it prepares the storage of a new definition.
 */
const firstListToleranceMs = 2000;

/** Combines the states of the kinds of a cluster. */
export class SyncTracker {
  readonly #kinds: readonly TrackedKind[];
  readonly #clock: Clock;
  #isServedKnown = false;
  #servedFault: { readonly since: number; readonly error: Error } | undefined;
  /** Times since which kinds are forbidden, not served any more, or cannot be listed for the first time. */
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
      const { state } = kind;
      if (errorOf(state) === undefined || state?.phase === "stale") this.#faultySince.delete(kind);
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
    return { state: "syncing", ...this.#startupReason() };
  }

  #forbidden(missing: readonly TrackedKind[]): SyncState {
    const permissions = missing.flatMap(({ resource, namespace, state }) =>
      resource !== undefined && state?.phase === "forbidden" ? [{ resource, namespace, error: state.error }] : [],
    );
    return {
      state: "forbidden",
      since: this.#since(missing),
      reason: describeMissing(permissions),
      reasonKind: "forbidden",
    };
  }

  #stateAfterSync(): SyncState {
    const faulty = this.#kinds.filter((kind) => errorOf(kind.state) !== undefined && !this.#isFirstListTolerated(kind));
    if (faulty.length === 0 && this.#servedFault === undefined) return { state: "synced" };
    const served = this.#servedFault === undefined ? [] : [`served kinds: ${this.#servedFault.error.message}`];
    const reasons = [...served, ...reasonsOf(faulty)];
    const since = Math.min(this.#since(faulty), this.#servedFault?.since ?? Infinity);
    const errors = [this.#servedFault?.error, ...faulty.map(({ state }) => errorOf(state))];
    return { state: "stale", since, reason: reasons.join("; "), reasonKind: kindsOf(errors) };
  }

  #isFirstListTolerated(kind: TrackedKind): boolean {
    const now = this.#clock.now();
    return kind.state?.phase === "syncing" && now - (this.#faultySince.get(kind) ?? now) < firstListToleranceMs;
  }

  #since(kinds: readonly TrackedKind[]): number {
    const times = kinds.map((kind) =>
      kind.state?.phase === "stale" ? kind.state.since : (this.#faultySince.get(kind) ?? this.#clock.now()),
    );
    return Math.min(...times);
  }

  #startupReason(): SyncReason | undefined {
    if (this.#servedFault !== undefined) {
      const { error } = this.#servedFault;
      return { reason: error.message, reasonKind: reasonKindOf(error) };
    }
    for (const { kind, state } of this.#kinds) {
      const error = errorOf(state);
      if (error !== undefined) return { reason: `${kind.kind}: ${error.message}`, reasonKind: reasonKindOf(error) };
    }
    return undefined;
  }
}

/** Returns a reason for each kind of error: that of one kind of objects, and the others that have the same. */
function reasonsOf(faulty: readonly TrackedKind[]): readonly string[] {
  const alike = new Map<string, [TrackedKind, ...TrackedKind[]]>();
  for (const each of faulty) {
    const kind = reasonKindOf(errorOf(each.state));
    const others = alike.get(kind);
    if (others === undefined) alike.set(kind, [each]);
    else others.push(each);
  }
  return [...alike.values()].map(([{ kind, state }, ...others]) => {
    const rest = others.length === 0 ? "" : ` (likewise ${others.map((other) => other.kind.kind).join(", ")})`;
    return `${kind.kind}: ${errorOf(state)?.message}${rest}`;
  });
}

/** Returns the kinds of errors, without their order and number: kinds of objects fail one after the other. */
function kindsOf(errors: readonly (Error | undefined)[]): string {
  const kinds = new Set(errors.flatMap((error) => (error === undefined ? [] : [reasonKindOf(error)])));
  return [...kinds].sort().join(", ");
}

function errorOf(state: WatchState | undefined): Error | undefined {
  return state === undefined || state.phase === "synced" ? undefined : state.error;
}
