/** Source of time. Tests pass a fake clock; see `@istiod/ca/testing`. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `action` once after `delay` milliseconds. Returns a function that cancels it. */
  after(delay: number, action: () => void): () => void;
}

/** Limit of setTimeout: a signed 32-bit number of milliseconds, about 24 days. */
const maxTimeoutMs = 2 ** 31 - 1;

/** The system clock. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(delay, action) {
    let timer: NodeJS.Timeout;
    const wait = (left: number): void => {
      const step = Math.min(Math.max(left, 0), maxTimeoutMs);
      timer = setTimeout(() => (left > step ? wait(left - step) : action()), step);
      timer.unref();
    };
    wait(delay);
    return () => clearTimeout(timer);
  },
};
