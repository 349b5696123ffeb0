import { performance } from "node:perf_hooks";

export interface Clock {
  /** Milliseconds since the epoch, with fractions; never goes back. */
  now(): number;
  /** Calls back once after so many milliseconds, unless the function that it gives is called before. */
  after(ms: number, callback: () => void): () => void;
}

/** The most milliseconds of a timer of Node, 24 days: a longer one fires at once. */
const longestTimer = 2 ** 31 - 1;

/** The clock of this process. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => performance.timeOrigin + performance.now(),
  after(ms, callback) {
    let timer: NodeJS.Timeout;
    const wait = (left: number): void => {
      timer = setTimeout(
        left > longestTimer ? () => wait(left - longestTimer) : callback,
        Math.min(left, longestTimer),
      ).unref();
    };
    wait(ms);
    return () => clearTimeout(timer);
  },
};
