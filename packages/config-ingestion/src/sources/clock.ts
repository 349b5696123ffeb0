/** Time, passed in so that tests need not wait. */
export interface Clock {
  /** Milliseconds from some fixed moment; never goes back. */
  now(): number;
  /** Calls back once, after at least `delay` milliseconds. The returned function cancels it. */
  after(delay: number, callback: () => void): () => void;
}

/** The time of this process. Its timers keep the process alive while they run. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(delay, callback) {
    const timer = setTimeout(callback, delay);
    return () => clearTimeout(timer);
  },
};
