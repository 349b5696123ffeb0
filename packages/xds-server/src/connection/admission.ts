import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "@istiod/runtime";
import { newest, PeerGroups } from "../limits/peer-groups.js";
import type { PeerIdentity, PeerKey } from "../limits/peer-key.js";

/** Streams wait at most about this long: more than are admitted in that time are rejected. */
const maxDelayMs = 1000;

/** The place of a new stream in the queue. */
export interface Admission {
  /** Resolves when the stream may proceed. Rejects with `ResourceExhausted` if there are too many. */
  readonly admitted: Promise<void>;
  /** Gives up the place: the stream has ended. */
  cancel(): void;
}

interface Entry {
  readonly key: PeerKey;
  readonly isAuthenticated: boolean;
  resolve(): void;
  reject(error: ConnectError): void;
}

const atOnce: Admission = { admitted: Promise.resolve(), cancel: () => undefined };

/** Returns the admission of a stream that is rejected. */
export function rejected(error: ConnectError): Admission {
  return { admitted: Promise.reject(error), cancel: () => undefined };
}

/**
 * Admits new streams at a limited rate (Istio's `PILOT_MAX_REQUESTS_PER_SECOND`, with a burst of one), fairly: clients
 * with a verified certificate and others in turn, and within each, one peer after the other. A peer that opens more
 * streams than its share waits for itself, and its own streams are rejected first.
 */
export class StreamAdmission {
  readonly #perSecond: number | undefined;
  readonly #clock: Clock;
  /** One error for all rejected streams: the stack trace of each would cost as much as the rest of its rejection. */
  readonly #tooMany: ConnectError;
  readonly #authenticated = new PeerGroups<Entry>();
  readonly #unauthenticated = new PeerGroups<Entry>();
  /** Time at which the next stream may be admitted. */
  #next = 0;
  #isRunning = false;
  /** Takes turns. */
  #authenticatedFirst = true;

  /** @param perSecond default: no limit */
  constructor(perSecond: number | undefined, clock: Clock) {
    this.#perSecond = perSecond;
    this.#clock = clock;
    this.#tooMany = new ConnectError(`more than ${perSecond} new streams a second`, Code.ResourceExhausted);
  }

  /** Queues a new stream of a peer. */
  queue({ key, isAuthenticated }: PeerIdentity): Admission {
    if (this.#perSecond === undefined) return atOnce;
    const now = this.#clock.now();
    if (this.#waiting === 0 && now >= this.#next) {
      this.#next = now + 1000 / this.#perSecond;
      return atOnce;
    }
    const groups = this.#groups(isAuthenticated);
    let cancel: () => void = () => undefined;
    const admitted = new Promise<void>((resolve, reject) => {
      const entry: Entry = { key, isAuthenticated, resolve, reject };
      cancel = () => void groups.delete(key, entry);
      groups.add(key, entry);
    });
    if (this.#waiting > (this.#perSecond * maxDelayMs) / 1000) this.#rejectOne();
    this.#run();
    return { admitted, cancel };
  }

  get #waiting(): number {
    return this.#authenticated.size + this.#unauthenticated.size;
  }

  #groups(isAuthenticated: boolean): PeerGroups<Entry> {
    return isAuthenticated ? this.#authenticated : this.#unauthenticated;
  }

  #run(): void {
    if (this.#isRunning || this.#waiting === 0 || this.#perSecond === undefined) return;
    this.#isRunning = true;
    const intervalMs = 1000 / this.#perSecond;
    this.#clock.after(Math.max(0, this.#next - this.#clock.now()), () => {
      this.#isRunning = false;
      const now = this.#clock.now();
      // Timers have a resolution of a millisecond and may be late.
      for (; this.#next <= now && this.#waiting > 0; this.#next += intervalMs) this.#admitOne();
      this.#run();
    });
  }

  #admitOne(): void {
    const preferred = this.#groups(this.#authenticatedFirst);
    const groups = preferred.size > 0 ? preferred : this.#groups(!this.#authenticatedFirst);
    this.#authenticatedFirst = !this.#authenticatedFirst;
    const key = groups.peers.next().value;
    const entry = key === undefined ? undefined : groups.of(key).values().next().value;
    if (entry === undefined) return;
    groups.delete(entry.key, entry);
    groups.moveToEnd(entry.key);
    entry.resolve();
  }

  /** Rejects the newest stream of the peer with the most, among the clients that have more than half of the places. */
  #rejectOne(): void {
    const groups = this.#groups(this.#authenticated.size > this.#unauthenticated.size);
    const key = groups.heaviest();
    const entry = key === undefined ? undefined : newest(groups.of(key));
    if (entry === undefined) return;
    groups.delete(entry.key, entry);
    entry.reject(this.#tooMany);
  }
}
