import type { Clock } from "@istiod/runtime";

/** A writer on a connection that copies what is written. */
export interface SlotHolder {
  /** Called once the writer has a slot. It keeps the slot until it calls `release`, or until it is slow. */
  granted(): void;
}

/** A batch that takes longer than this multiple of the usual time is slow, within the limits in milliseconds. */
const slowFactor = 4;
const minSlowMs = 50;
const maxSlowMs = 1000;
/** Weight of the last batch in the usual time. */
const lastWeight = 1 / 16;

/**
 * Limits how many connections have large batches copied at the same time. Writers get slots in the order in which they
 * ask and keep them from batch to batch, so that the first clients are complete early and the copies of a whole fleet
 * never exist at once. A writer whose client reads much more slowly than others loses its slot if another one waits, so
 * that clients that do not read delay nobody for more than a second.
 */
export class WriteSlots {
  readonly #count: number;
  readonly #clock: Clock;
  readonly #waiting = new Set<SlotHolder>();
  /** Holders, with the times at which their batches were started. */
  readonly #holders = new Map<SlotHolder, number>();
  #usualMs = 0;
  #sweeping = false;

  /** @param count number of writers that may hold a slot */
  constructor(count: number, clock: Clock) {
    this.#count = count;
    this.#clock = clock;
  }

  /** Number of slots that are taken. */
  get taken(): number {
    return this.#holders.size;
  }

  /** Calls `granted` once there is a slot, possibly at once. */
  request(holder: SlotHolder): void {
    if (this.#holders.has(holder)) return;
    this.#waiting.add(holder);
    this.#grant();
  }

  /** Records that a holder starts a batch. Returns whether it holds a slot. */
  startBatch(holder: SlotHolder): boolean {
    if (!this.#holders.has(holder)) return false;
    this.#holders.set(holder, this.#clock.now());
    return true;
  }

  /** Records that a batch was written. */
  endBatch(holder: SlotHolder): void {
    const startedAt = this.#holders.get(holder);
    if (startedAt === undefined) return;
    const ms = Math.min(this.#clock.now() - startedAt, maxSlowMs);
    this.#usualMs += (ms - this.#usualMs) * lastWeight;
  }

  /** Gives a slot back, or stops waiting for one. */
  release(holder: SlotHolder): void {
    this.#waiting.delete(holder);
    if (this.#holders.delete(holder)) this.#grant();
  }

  #grant(): void {
    for (const holder of this.#waiting) {
      if (this.#holders.size >= this.#count) return this.#sweepLater();
      this.#waiting.delete(holder);
      this.#holders.set(holder, this.#clock.now());
      holder.granted();
    }
  }

  /** While writers wait, takes slots from slow holders. */
  #sweepLater(): void {
    if (this.#sweeping) return;
    this.#sweeping = true;
    this.#clock.after(minSlowMs, () => {
      const slowMs = Math.min(Math.max(slowFactor * this.#usualMs, minSlowMs), maxSlowMs);
      const limit = this.#clock.now() - slowMs;
      const slow = [...this.#holders].filter(([, startedAt]) => startedAt <= limit);
      // After a long turn of the event loop, the time is over before the sockets are polled.
      setImmediate(() => {
        this.#sweeping = false;
        for (const [holder, startedAt] of slow) if (this.#holders.get(holder) === startedAt) this.release(holder);
        this.#grant();
      });
    });
  }
}
