import type { Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import { type Clock, monotonicClock, pauseEvery } from "@istiod/runtime";
import type { Omissions } from "@istiod/xds-generators";
import { type Faults, omissionsOf, omittedReasons } from "./faults.js";
import type { MeshClient } from "./mesh-client.js";

export interface OmissionObserverOptions {
  readonly database: Pick<Database<Proxy>, "revision">;
  /** Returns the connected proxies. */
  readonly clients: () => readonly MeshClient[];
  /** Called with the parts of objects that listeners of proxies newly lack, and with those that they lack no more. */
  readonly changed: (found: Faults, gone: Faults) => void;
  /** Milliseconds between two looks at what changed. Default: 10 seconds. */
  readonly interval?: number;
  /** Timers. Default: the clock of the process. */
  readonly clock?: Pick<Clock, "after">;
  /** Yields to the event loop between slices. Default: `setImmediate`. */
  readonly turn?: () => Promise<unknown>;
}

/** Milliseconds after which the event loop gets a turn. */
const sliceMs = 8;

/**
 * Follows the parts of objects that are left out of listeners of connected proxies. It looks at the proxies in slices,
 * and only if the mesh or the set of proxies changed since the last look.
 */
export class OmissionObserver {
  readonly #options: OmissionObserverOptions;
  #omitted: Faults = new Map();
  #revision: number | undefined;
  #clients: ReadonlySet<MeshClient> = new Set();
  #stopped = false;
  #cancelTimer = (): void => undefined;

  constructor(options: OmissionObserverOptions) {
    this.#options = options;
    this.#schedule();
  }

  /** Ends the observation. */
  stop(): void {
    this.#stopped = true;
    this.#cancelTimer();
  }

  #schedule(): void {
    const { clock = monotonicClock, interval = 10_000 } = this.#options;
    this.#cancelTimer = clock.after(interval, () => {
      void this.#look().finally(() => {
        if (!this.#stopped) this.#schedule();
      });
    });
  }

  async #look(): Promise<void> {
    const { database, clients, changed } = this.#options;
    const now = new Set(clients());
    if (database.revision === this.#revision && isSameSet(now, this.#clients)) return;
    this.#revision = database.revision;
    this.#clients = now;
    const after = await this.#collect(now);
    if (this.#stopped) return;
    const before = this.#omitted;
    this.#omitted = after;
    const found = new Map([...after].filter(([part, { message }]) => before.get(part)?.message !== message));
    const gone = new Map([...before].filter(([part]) => !after.has(part)));
    if (found.size + gone.size > 0) changed(found, gone);
  }

  async #collect(clients: ReadonlySet<MeshClient>): Promise<Faults> {
    const { clients: connected, turn } = this.#options;
    const parts = new Map<string, { readonly proxy: string; readonly message: string }>();
    /** Results that clients share are read once. */
    const read = new Set<Omissions>();
    const pause = pauseEvery(sliceMs, turn);
    let present = clients;
    for (const client of clients) {
      const paused = pause();
      if (paused !== undefined) {
        await paused;
        if (this.#stopped) return parts;
        present = new Set(connected());
      }
      if (!present.has(client)) continue;
      const omitted = omissionsOf(client.view);
      if (read.has(omitted)) continue;
      read.add(omitted);
      for (const [part, message] of omittedReasons(client.view, omitted))
        parts.set(part, { proxy: client.proxy.nodeId, message });
    }
    return parts;
  }
}

function isSameSet(some: ReadonlySet<MeshClient>, others: ReadonlySet<MeshClient>): boolean {
  return some.size === others.size && [...some].every((client) => others.has(client));
}
