import { performance } from "node:perf_hooks";

export interface Clock {
  /** Milliseconds since the epoch, with fractions; never goes back. */
  now(): number;
  /** Calls back once after the given milliseconds. Returns a function that cancels the timer. */
  after(ms: number, callback: () => void): () => void;
}

/** Node's longest timer in milliseconds, 24 days; a longer one would fire at once. */
const maxTimerMs = 2 ** 31 - 1;

/** The clock of this process. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => performance.timeOrigin + performance.now(),
  after(ms, callback) {
    let timer: NodeJS.Timeout;
    const wait = (left: number): void => {
      timer = setTimeout(
        left > maxTimerMs ? () => wait(left - maxTimerMs) : callback,
        Math.min(left, maxTimerMs),
      ).unref();
    };
    wait(ms);
    return () => clearTimeout(timer);
  },
};
