/** Time as the agent sees it; tests pass their own. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `action` once after `delay` milliseconds; the function given back cancels it. */
  after(delay: number, action: () => void): () => void;
}

/** setTimeout takes at most a signed 32-bit number of milliseconds, some 24 days. */
const LONGEST_TIMEOUT = 2 ** 31 - 1;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(delay, action) {
    let timer: NodeJS.Timeout;
    const wait = (left: number): void => {
      const step = Math.min(Math.max(left, 0), LONGEST_TIMEOUT);
      timer = setTimeout(() => (left > step ? wait(left - step) : action()), step);
      timer.unref();
    };
    wait(delay);
    return () => clearTimeout(timer);
  },
};
