import type { Collection, Commit, Database, Query, View } from "@istiod/incremental";
import type { Clock } from "@istiod/runtime";
import { type FetchedDocuments, type KeySetLog, logFetch, tokenKeySets } from "./fetch-log.js";
import type { FetchKeySet } from "./key-set-fetcher.js";
import { KeySets, type KeySetsOptions, type KeySetState } from "./key-sets.js";
import type { RefreshSchedule } from "./refresh-schedule.js";
import { type KeySetSource, sourceKey } from "./source.js";

/** State of the fetch of a key set that is not current. */
export type KeySetFetch =
  /** The first fetch has not ended. */
  | { readonly state: "fetching" }
  | { readonly state: "failed"; readonly reason: string }
  /** The last keys are kept. `fetchedAt`: time of the last success, as in RFC 3339. */
  | { readonly state: "stale"; readonly reason: string; readonly fetchedAt: string };

export interface KeySetDemandOptions<C> extends Pick<KeySetsOptions, "maxStaleMs" | "maxTotalLength"> {
  readonly database: Database<C>;
  /** Any client; the wanted key sets must not depend on it. */
  readonly client: C;
  /** The key sets that are wanted. */
  readonly wanted: Query<void, readonly KeySetSource[]>;
  /** Receives the last keys, by `sourceKey`. */
  readonly keys: Collection<string>;
  /** Receives the fetches of key sets that are not current, by `sourceKey`. */
  readonly fetches: Collection<KeySetFetch>;
  readonly fetch: FetchKeySet;
  readonly schedule: RefreshSchedule;
  /** The time of day, and timers. */
  readonly clock: Clock;
  readonly log: KeySetLog;
  /** The key sets as log lines name them. Default: keys of tokens. */
  readonly documents?: FetchedDocuments;
}

/** Changes of key sets within this time are one commit. */
const mergeMs = 20;
/** Maximum time in milliseconds that the first fetches may take before `start` resolves. */
const firstFetchesMs = 10_000;

/**
 * Fetches the key sets that a query wants, and commits them as an input: when the query begins to want them, and again
 * at the refresh interval. While a fetch fails, the last keys stay.
 */
export class KeySetDemand<C> {
  readonly #options: KeySetDemandOptions<C>;
  readonly #view: View<C>;
  readonly #keySets: KeySets;
  readonly #changes = new Map<string, KeySetState | undefined>();
  #stopObserving = (): void => undefined;
  #cancelMerge: (() => void) | undefined;
  #isStopped = false;

  constructor(options: KeySetDemandOptions<C>) {
    this.#options = options;
    this.#view = options.database.view(options.client);
    const { fetch, schedule, clock, maxStaleMs, maxTotalLength, log, documents = tokenKeySets } = options;
    this.#keySets = new KeySets({
      fetch,
      schedule,
      clock,
      ...(maxStaleMs !== undefined && { maxStaleMs }),
      ...(maxTotalLength !== undefined && { maxTotalLength }),
      onChange: (_, source, state, before) => {
        if (state !== undefined) logFetch(log, documents, source, before, state);
        this.#changed(source, state);
      },
    });
  }

  /**
   * Starts to fetch the wanted key sets, and those that later commits add. Resolves when each of the current ones is
   * fetched or has failed, at the latest after 10 s.
   */
  async start(): Promise<void> {
    this.#stopObserving = this.#options.database.observe({ after: (commit) => this.#committed(commit) });
    this.#update();
    let cancel = (): void => undefined;
    const tooLong = new Promise<void>((resolve) => (cancel = this.#options.clock.after(firstFetchesMs, resolve)));
    await Promise.race([this.#keySets.attempted(), tooLong]);
    cancel();
    this.#commit();
  }

  /** Returns the number of key sets in each state. */
  counts(): Readonly<Record<"current" | KeySetFetch["state"], number>> {
    const counts = { current: 0, fetching: 0, failed: 0, stale: 0 };
    for (const state of this.#keySets.states().values()) counts[fetchOf(state)?.state ?? "current"]++;
    return counts;
  }

  /** Returns the states of the wanted key sets by `sourceKey`. */
  states(): ReadonlyMap<string, KeySetState> {
    return this.#keySets.states();
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopObserving();
    this.#cancelMerge?.();
    this.#keySets.stop();
    this.#view.release();
  }

  #committed({ affected }: Commit): void {
    if (!affected.some(({ view }) => view === (this.#view as View<unknown>))) return;
    // Observers must not commit.
    queueMicrotask(() => this.#update());
  }

  #update(): void {
    if (!this.#isStopped) this.#keySets.want(this.#view.follow(this.#options.wanted));
  }

  #changed(source: KeySetSource, state: KeySetState | undefined): void {
    this.#changes.set(sourceKey(source), state);
    this.#cancelMerge ??= this.#options.clock.after(mergeMs, () => this.#commit());
  }

  #commit(): void {
    this.#cancelMerge?.();
    this.#cancelMerge = undefined;
    const changes = [...this.#changes];
    this.#changes.clear();
    if (this.#isStopped || changes.length === 0) return;
    const { database, keys, fetches } = this.#options;
    database.commit((tx) => {
      for (const [key, state] of changes) {
        if (state?.keys === undefined) tx.delete(keys, key);
        else tx.set(keys, key, state.keys);
        const fetch = state && fetchOf(state);
        if (fetch === undefined) tx.delete(fetches, key);
        else tx.set(fetches, key, fetch);
      }
    });
  }
}

function fetchOf({ keys, fetchedAt = 0, failure }: KeySetState): KeySetFetch | undefined {
  if (failure === undefined) return keys === undefined ? { state: "fetching" } : undefined;
  if (keys === undefined) return { state: "failed", reason: failure };
  return { state: "stale", reason: failure, fetchedAt: new Date(fetchedAt).toISOString() };
}
