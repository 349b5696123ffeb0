import { performance } from "node:perf_hooks";

export interface Clock {
  /** Milliseconds since the epoch, with fractions; never goes back. */
  now(): number;
  /** Calls back once after so many milliseconds, unless the function that it gives is called before. */
  after(ms: number, callback: () => void): () => void;
}

/** The clock of this process. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => performance.timeOrigin + performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms).unref();
    return () => clearTimeout(timer);
  },
};
