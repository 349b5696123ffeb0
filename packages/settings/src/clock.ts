/** Time, passed in so that tests need not wait. */
export interface Clock {
  /** Milliseconds from some fixed moment; never goes back. */
  now(): number;
  /** Calls back once, after at least `delay` milliseconds. The returned function cancels it. */
  after(delay: number, callback: () => void): () => void;
}

/** The most milliseconds of a timer of Node, 24 days: a longer one fires at once. */
const longestTimer = 2 ** 31 - 1;

/** The time of this process. Its timers keep the process alive while they run. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(delay, callback) {
    let timer: NodeJS.Timeout;
    const wait = (left: number): void => {
      timer = setTimeout(
        left > longestTimer ? () => wait(left - longestTimer) : callback,
        Math.min(left, longestTimer),
      );
    };
    wait(delay);
    return () => clearTimeout(timer);
  },
};
