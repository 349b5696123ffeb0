import type { Commit, Database, View } from "@istiod/incremental";
import {
  describeSource,
  type FetchKeySet,
  type KeySetSource,
  KeySets,
  type KeySetState,
  type RefreshSchedule,
} from "@istiod/jwks";
import { fetchedJwks, type JwksFetch, jwksFetches, jwksKey, jwksToFetch } from "@istiod/push-context";
import type { Clock } from "@istiod/settings";
import type { Logger } from "pino";

export interface JwksDemandOptions<C> {
  readonly database: Database<C>;
  /** Any client; the wanted keys do not depend on it. */
  readonly client: C;
  readonly fetch: FetchKeySet;
  readonly schedule: RefreshSchedule;
  /** The time of day, and timers. */
  readonly clock: Clock;
  readonly log: Pick<Logger, "info" | "warn" | "error">;
}

/** Changes of key sets within this time are one commit. */
const mergeMs = 20;
/** Maximum time for which the first fetches delay the first configuration of proxies. */
const firstFetchesMs = 10_000;

/**
 * Fetches the keys that RequestAuthentications need, and commits them as `fetchedJwks`: when a policy appears that
 * needs them, and again at the refresh interval. While a fetch fails, the last keys stay.
 */
export class JwksDemand<C> {
  readonly #options: JwksDemandOptions<C>;
  readonly #view: View<C>;
  readonly #keySets: KeySets;
  readonly #changes = new Map<string, KeySetState | undefined>();
  #stopObserving = (): void => undefined;
  #cancelMerge: (() => void) | undefined;
  #isStopped = false;

  constructor(options: JwksDemandOptions<C>) {
    this.#options = options;
    this.#view = options.database.view(options.client);
    const { fetch, schedule, clock } = options;
    this.#keySets = new KeySets({
      fetch,
      schedule,
      clock,
      onChange: (_, source, state) => this.#changed(source, state),
    });
  }

  /**
   * Starts to fetch the keys of the current policies, and of those that later commits add. Settles when each current
   * key set is fetched or has failed, at the latest after 10 s, so that proxies which connect to a restarted istiod do
   * not reject valid tokens.
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
  counts(): Readonly<Record<"current" | JwksFetch["state"], number>> {
    const counts = { current: 0, fetching: 0, failed: 0, stale: 0 };
    for (const state of this.#keySets.states().values()) counts[fetchOf(state)?.state ?? "current"]++;
    return counts;
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
    if (!this.#isStopped) this.#keySets.want(this.#view.follow(jwksToFetch));
  }

  #changed(source: KeySetSource, state: KeySetState | undefined): void {
    this.#report(source, state);
    this.#changes.set(jwksKey(source), state);
    this.#cancelMerge ??= this.#options.clock.after(mergeMs, () => this.#commit());
  }

  #commit(): void {
    this.#cancelMerge?.();
    this.#cancelMerge = undefined;
    const changes = [...this.#changes];
    this.#changes.clear();
    if (this.#isStopped || changes.length === 0) return;
    this.#options.database.commit((tx) => {
      for (const [key, state] of changes) {
        if (state?.keys === undefined) tx.delete(fetchedJwks, key);
        else tx.set(fetchedJwks, key, state.keys);
        const fetch = state && fetchOf(state);
        if (fetch === undefined) tx.delete(jwksFetches, key);
        else tx.set(jwksFetches, key, fetch);
      }
    });
  }

  /** Logs failures once, until the reason changes. */
  #report(source: KeySetSource, state: KeySetState | undefined): void {
    const { database, log } = this.#options;
    if (state === undefined || (state.keys === undefined && state.failure === undefined)) return;
    const key = jwksKey(source);
    const known = database.read(jwksFetches, key);
    const before = known !== undefined && "reason" in known ? known.reason : undefined;
    const jwks = describeSource(source);
    if (state.failure !== undefined) {
      const kept = state.keys === undefined ? "its tokens are rejected" : "keeping the last keys";
      if (state.failure !== before) log.warn({ jwks, reason: state.failure }, `failed to fetch JWKS, ${kept}`);
      return;
    }
    const last = database.read(fetchedJwks, key);
    if (last !== undefined && last !== state.keys) log.info({ jwks }, "updated JWKS");
    else if (before !== undefined) log.info({ jwks }, "fetched JWKS after failures");
  }
}

function fetchOf({ keys, fetchedAt = 0, failure }: KeySetState): JwksFetch | undefined {
  if (failure === undefined) return keys === undefined ? { state: "fetching" } : undefined;
  if (keys === undefined) return { state: "failed", reason: failure };
  return { state: "stale", reason: failure, fetchedAt: new Date(fetchedAt).toISOString() };
}
