import type { Clock } from "@istiod/runtime";
import { type KeySetLog, logFetch, tokenKeySets } from "./fetch-log.js";
import type { FetchKeySet } from "./key-set-fetcher.js";
import { KeySets } from "./key-sets.js";
import type { RefreshSchedule } from "./refresh-schedule.js";
import { type KeySetSource, sourceKey } from "./source.js";

export interface FollowKeySetOptions {
  readonly source: KeySetSource;
  readonly fetch: FetchKeySet;
  readonly schedule: RefreshSchedule;
  readonly clock: Clock;
  readonly log: KeySetLog;
}

/** One key set that is fetched for this process itself, such as that of an issuer whose tokens authenticate callers. */
export interface FollowedKeySet {
  /** Settles when the first fetch has ended, well or not. */
  attempted(): Promise<void>;
  /** Returns the last key set as text; undefined if there is none. */
  keys(): string | undefined;
  /**
   * Fetches it before its next refresh, as `KeySets.refresh` does. Settles after a second at the latest, so that
   * callers with forged tokens do not hold anything while the provider is slow.
   */
  refresh(): Promise<void>;
  stop(): void;
}

const maxWaitMs = 1000;

/** Fetches a key set, and again at the refresh interval. While fetches fail, the last keys are kept. */
export function followKeySet({ source, fetch, schedule, clock, log }: FollowKeySetOptions): FollowedKeySet {
  const key = sourceKey(source);
  const keySets = new KeySets({
    fetch,
    schedule,
    clock,
    onChange: (_, __, state, before) => {
      if (state !== undefined) logFetch(log, tokenKeySets, source, before, state);
    },
  });
  keySets.want([source]);
  return {
    attempted: () => keySets.attempted(),
    keys: () => keySets.states().get(key)?.keys,
    refresh: async () => {
      let cancel = (): void => undefined;
      const tooLong = new Promise<void>((resolve) => (cancel = clock.after(maxWaitMs, resolve)));
      await Promise.race([keySets.refresh(key), tooLong]);
      cancel();
    },
    stop: () => keySets.stop(),
  };
}
