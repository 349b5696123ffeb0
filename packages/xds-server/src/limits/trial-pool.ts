import type { Clock } from "@istiod/runtime";

/** Tokens that an accepted trial returns: its own, and those of the rejected ones that it was split from. */
const refund = 4;
/** Tokens of accepted trials that are kept. */
const maxTokens = 256;
const tickMs = 250;
/** Rejected trials in a row of a search among 65,536 resources. A stream with more rejects everything. */
const deepest = 16;

/** Tokens at the start, and tokens that are added for each second: for first trials, and after rejected ones. */
const rates = { first: { burst: 16, perSecond: 1 }, later: { burst: 48, perSecond: 2 } };

/** The part of one stream in a pool. */
export interface TrialShare {
  /**
   * Reports whether the stream may send a trial. If not, it is woken when it may.
   *
   * @param failures rejected trials in a row
   */
  admits(failures: number): boolean;
  /** Records a trial that is sent. */
  used(failures: number): void;
  /** Records that a trial was accepted. */
  succeeded(): void;
  /** The stream has ended. */
  close(): void;
}

/** A share that admits all trials. */
export const unlimitedTrials: TrialShare = {
  admits: () => true,
  used: () => undefined,
  succeeded: () => undefined,
  close: () => undefined,
};

interface Waiting {
  readonly failures: number;
  readonly wake: () => void;
}

/** Tokens, and the streams that wait for them. */
class Bucket {
  readonly #burst: number;
  readonly #perMs: number;
  readonly #waiting = new Map<object, Waiting>();
  #deepIsNext = true;
  #tokens: number;
  #at: number;

  constructor({ burst, perSecond }: { readonly burst: number; readonly perSecond: number }, now: number) {
    this.#burst = this.#tokens = burst;
    this.#perMs = perSecond / 1000;
    this.#at = now;
  }

  get isAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  hasToken(now: number): boolean {
    // Tokens that accepted trials returned stay; time adds none above the burst.
    const added = (now - this.#at) * this.#perMs;
    if (this.#tokens < this.#burst) this.#tokens = Math.min(this.#burst, this.#tokens + added);
    this.#at = now;
    return this.#tokens >= 1;
  }

  take(share: object): void {
    this.#tokens = Math.max(0, this.#tokens - 1);
    this.#waiting.delete(share);
  }

  return(tokens: number): void {
    this.#tokens = Math.min(maxTokens, this.#tokens + tokens);
  }

  wait(share: object, waiting: Waiting): void {
    this.#waiting.set(share, waiting);
  }

  leave(share: object): void {
    this.#waiting.delete(share);
  }

  /** Wakes as many streams as there are tokens. */
  wake(now: number): void {
    if (this.#waiting.size === 0 || !this.hasToken(now)) return;
    for (const [share, { wake }] of this.#next(Math.floor(this.#tokens))) {
      this.#waiting.delete(share);
      wake();
    }
  }

  /**
   * Returns the streams that are next: in turns the one with the fewest rejected trials in a row, and the one that is
   * closest to a single resource. Its result helps the others.
   */
  #next(count: number): (readonly [object, Waiting])[] {
    const waiting = [...this.#waiting];
    if (waiting.length <= count) return waiting;
    const sorted = waiting.sort(([, a], [, b]) => a.failures - b.failures);
    const beyond = sorted.findIndex(([, { failures }]) => failures > deepest);
    const hopeless = beyond === -1 ? [] : sorted.splice(beyond);
    let [first, last] = [0, sorted.length - 1];
    const found: (readonly [object, Waiting])[] = [];
    for (; found.length < count && first <= last; this.#deepIsNext = !this.#deepIsNext) {
      const next = sorted[this.#deepIsNext ? last-- : first++];
      if (next !== undefined) found.push(next);
    }
    return [...found, ...hopeless.slice(0, count - found.length)];
  }
}

/**
 * Limits the responses of all streams together that find the invalid resources of rejected ones. Accepted responses
 * return more than they cost, so that a fleet that rejects one resource isolates it within round trips. A fleet that
 * rejects everything uses the tokens up and costs what they cost.
 *
 * First trials have tokens of their own, so that streams that reject everything do not hold up one that begins to
 * search.
 */
export class TrialPool {
  readonly #clock: Clock;
  readonly #first: Bucket;
  readonly #later: Bucket;
  #cancelTick: (() => void) | undefined;
  #wakes = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#first = new Bucket(rates.first, clock.now());
    this.#later = new Bucket(rates.later, clock.now());
  }

  /** @param wake called when the stream may send a trial for which it waited */
  join(wake: () => void): TrialShare {
    const key = {};
    return {
      admits: (failures) => {
        const bucket = this.#bucketOf(failures);
        if (bucket.hasToken(this.#clock.now())) return true;
        bucket.wait(key, { failures, wake });
        this.#tick();
        return false;
      },
      used: (failures) => this.#bucketOf(failures).take(key),
      succeeded: () => {
        this.#first.return(refund);
        this.#later.return(refund);
        this.#wake();
      },
      close: () => {
        this.#first.leave(key);
        this.#later.leave(key);
      },
    };
  }

  #bucketOf(failures: number): Bucket {
    return failures === 0 ? this.#first : this.#later;
  }

  #wake(): void {
    if (this.#wakes) return;
    this.#wakes = true;
    const now = this.#clock.now();
    this.#first.wake(now);
    this.#later.wake(now);
    this.#wakes = false;
  }

  #tick(): void {
    this.#cancelTick ??= this.#clock.after(tickMs, () => {
      this.#cancelTick = undefined;
      this.#wake();
      if (this.#first.isAwaited || this.#later.isAwaited) this.#tick();
    });
  }
}
