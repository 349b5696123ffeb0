import { type Clock, reasonOf } from "@istiod/runtime";
import { FairLimit, type Turn } from "./fair-limit.js";
import { JwksError } from "./jwks-error.js";
import type { FetchKeySet } from "./key-set-fetcher.js";
import type { RefreshSchedule } from "./refresh-schedule.js";
import { hostOf, type KeySetSource, sourceKey } from "./source.js";

/** State of a key set. Without keys and failure, its first fetch has not ended. */
export interface KeySetState {
  /** The last valid key set. */
  readonly keys?: string;
  /** Time of the last success, in milliseconds since the epoch. */
  readonly fetchedAt?: number;
  /** Reason why the last fetch failed; absent after a success. With keys, they are stale. */
  readonly failure?: string;
}

export interface KeySetsOptions {
  readonly fetch: FetchKeySet;
  readonly schedule: RefreshSchedule;
  /** Is called with each new state of a wanted key set and the former one, and without a new one when it is dropped. */
  readonly onChange: (
    key: string,
    source: KeySetSource,
    state: KeySetState | undefined,
    before: KeySetState | undefined,
  ) => void;
  readonly clock: Clock;
  /** Default: 64. Owners take turns. */
  readonly maxConcurrentFetches?: number;
  /** Maximum number of fetches at once for one owner. Default: 8, and half of it for one host of the owner. */
  readonly maxFetchesPerOwner?: number;
  /** Maximum length of all kept key sets in characters. Default: 64 Mi, and a quarter of it for one owner. */
  readonly maxTotalLength?: number;
  /** Time in milliseconds after which keys that cannot be refreshed are dropped. Default: 7 days, as in Istio. */
  readonly maxStaleMs?: number;
  /** Minimum time in milliseconds between fetches that `refresh` causes and the fetch before. Default: 10,000. */
  readonly minRefreshMs?: number;
}

interface Entry {
  source: KeySetSource;
  state: KeySetState;
  failures: number;
  readonly abort: AbortController;
  cancelTimer: () => void;
  /** Time at which the last fetch began. */
  fetchBegan: number;
  isFetching: boolean;
  /** The last fetch. It settles when the fetch has ended, well or not. */
  fetch: Promise<void>;
  /** Settles when the first fetch has ended. */
  attempted: Promise<void>;
}

const dayMs = 86_400_000;

/**
 * Key sets that are wanted: each is fetched once for all who want it, refreshed, kept while refreshes fail, and dropped
 * when nobody wants it any more.
 */
export class KeySets {
  readonly #options: KeySetsOptions;
  readonly #limit: FairLimit;
  readonly #entries = new Map<string, Entry>();
  #totalLength = 0;

  constructor(options: KeySetsOptions) {
    this.#options = options;
    const { maxConcurrentFetches: total = 64, maxFetchesPerOwner: perGroup = 8 } = options;
    this.#limit = new FairLimit({ total, perGroup, perPart: Math.ceil(perGroup / 2) });
  }

  /** Sets the wanted key sets. New ones are fetched at once; those that are no longer among them are dropped. */
  want(sources: readonly KeySetSource[]): void {
    const wanted = new Map(sources.map((source) => [sourceKey(source), source]));
    for (const [key, entry] of this.#entries) if (!wanted.has(key)) this.#drop(key, entry);
    for (const [key, source] of wanted) {
      const entry = this.#entries.get(key);
      if (entry === undefined) this.#add(key, source);
      else entry.source = source;
    }
  }

  /** Settles when the first fetch of every wanted key set has ended, well or not. */
  async attempted(): Promise<void> {
    await Promise.all([...this.#entries.values()].map(({ attempted }) => attempted));
  }

  /**
   * Fetches a wanted key set before its next refresh, for a token that none of its keys verifies. Joins a fetch in
   * progress, and fetches nothing if the last fetch began less than `minRefreshMs` ago. Settles when the fetch has
   * ended, well or not.
   */
  async refresh(key: string): Promise<void> {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.abort.signal.aborted) return;
    const { clock, minRefreshMs = 10_000 } = this.#options;
    if (clock.now() - entry.fetchBegan >= minRefreshMs && !entry.isFetching) this.#fetch(key, entry);
    await entry.fetch;
  }

  /** Returns the states of the wanted key sets by key. */
  states(): ReadonlyMap<string, KeySetState> {
    return new Map([...this.#entries].map(([key, { state }]) => [key, state]));
  }

  /** Ends all fetches and timers. The states stay. */
  stop(): void {
    for (const { abort, cancelTimer } of this.#entries.values()) {
      abort.abort();
      cancelTimer();
    }
  }

  #add(key: string, source: KeySetSource): void {
    const none = Promise.resolve();
    const entry: Entry = {
      source,
      state: {},
      failures: 0,
      abort: new AbortController(),
      cancelTimer: () => undefined,
      fetchBegan: 0,
      isFetching: false,
      fetch: none,
      attempted: none,
    };
    this.#entries.set(key, entry);
    this.#options.onChange(key, source, entry.state, undefined);
    this.#fetch(key, entry);
    entry.attempted = entry.fetch;
  }

  #fetch(key: string, entry: Entry): void {
    entry.cancelTimer();
    entry.fetchBegan = this.#options.clock.now();
    entry.isFetching = true;
    entry.fetch = this.#refresh(key, entry).finally(() => (entry.isFetching = false));
  }

  #drop(key: string, entry: Entry): void {
    entry.abort.abort();
    entry.cancelTimer();
    this.#entries.delete(key);
    this.#totalLength -= entry.state.keys?.length ?? 0;
    this.#options.onChange(key, entry.source, undefined, entry.state);
  }

  async #refresh(key: string, entry: Entry): Promise<void> {
    const { signal } = entry.abort;
    const { fetch, schedule, clock } = this.#options;
    let delay: number;
    try {
      const keys = await this.#limit.run(turnsOf(entry.source), signal, (hold) => fetch(entry.source, signal, hold));
      if (signal.aborted) return;
      this.#checkTotal(entry, keys);
      const isFirst = entry.state.keys === undefined || entry.failures > 0;
      entry.failures = 0;
      this.#change(key, entry, { keys, fetchedAt: clock.now() });
      delay = schedule.afterSuccess(isFirst);
    } catch (error) {
      if (signal.aborted) return;
      entry.failures++;
      this.#change(key, entry, this.#failed(entry.state, reasonOf(error)));
      delay = schedule.afterFailure(entry.failures);
    }
    entry.cancelTimer = clock.after(delay, () => this.#fetch(key, entry));
  }

  /** Returns the state after a failure: with the last keys, unless they are too old. */
  #failed({ keys, fetchedAt }: KeySetState, failure: string): KeySetState {
    const { clock, maxStaleMs = 7 * dayMs } = this.#options;
    if (keys === undefined || fetchedAt === undefined || clock.now() - fetchedAt >= maxStaleMs) return { failure };
    return { keys, fetchedAt, failure };
  }

  #checkTotal(entry: Entry, keys: string): void {
    const { maxTotalLength = 64 * 1024 * 1024 } = this.#options;
    if (this.#totalLength - (entry.state.keys?.length ?? 0) + keys.length > maxTotalLength)
      throw new JwksError("too-large", `all key sets together are longer than ${maxTotalLength} characters`);
    const { owners = [] } = entry.source;
    const share = maxTotalLength / 4;
    if (owners.length > 0 && owners.every((owner) => this.#lengthOf(owner, entry) + keys.length > share))
      throw new JwksError("too-large", `the key sets of ${owners[0]} together are longer than ${share} characters`);
  }

  /** Returns the length of the key sets of an owner, without those of an entry. */
  #lengthOf(owner: string, without: Entry): number {
    let length = 0;
    for (const entry of this.#entries.values())
      if (entry !== without && entry.source.owners?.includes(owner) === true) length += entry.state.keys?.length ?? 0;
    return length;
  }

  #change(key: string, entry: Entry, state: KeySetState): void {
    this.#totalLength += (state.keys?.length ?? 0) - (entry.state.keys?.length ?? 0);
    const before = entry.state;
    entry.state = state;
    this.#options.onChange(key, entry.source, state, before);
  }
}

function turnsOf(source: KeySetSource): readonly Turn[] {
  const { owners = [""] } = source;
  return owners.map((group) => ({ group, part: hostOf(source) }));
}
