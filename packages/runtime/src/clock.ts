import { performance } from "node:perf_hooks";

/** The time and timers, passed in so that tests advance them without waiting. */
export interface Clock {
  /** Returns milliseconds since the epoch. */
  now(): number;
  /** Calls `callback` once after `delay` milliseconds. Returns a function that cancels the call. */
  after(delay: number, callback: () => void): () => void;
}

export interface ClockOptions {
  /**
   * Reads the monotonic time, for measuring durations: it has fractions and never goes back, but does not follow
   * corrections of the system's clock. Default: false, for dates such as the expiry of certificates.
   */
  readonly isMonotonic?: boolean;
  /** Keeps the process alive while a timer runs. Default: false. */
  readonly keepsProcessAlive?: boolean;
}

/** The longest timer of Node.js in milliseconds, 24 days. A longer one would fire at once. */
const maxTimerMs = 2 ** 31 - 1;

/** Returns a clock of this machine. */
export function createClock({ isMonotonic = false, keepsProcessAlive = false }: ClockOptions = {}): Clock {
  return {
    now: isMonotonic ? () => performance.timeOrigin + performance.now() : () => Date.now(),
    after(delay, callback) {
      let timer: NodeJS.Timeout;
      const wait = (left: number): void => {
        const step = Math.min(Math.max(left, 0), maxTimerMs);
        timer = setTimeout(() => (left > step ? wait(left - step) : callback()), step);
        if (!keepsProcessAlive) timer.unref();
      };
      wait(delay);
      return () => clearTimeout(timer);
    },
  };
}

/** The system's clock, for dates. */
export const systemClock: Clock = createClock();

/** The monotonic clock of this process, for durations. */
export const monotonicClock: Clock = createClock({ isMonotonic: true });
