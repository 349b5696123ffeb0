import type { Clock } from "./clock.js";

/** Waits for a time in milliseconds, or until a signal aborts. No listener is left at the signal. */
export function abortableDelay(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = (): void => {
      cancel();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const cancel = clock.after(delayMs, end);
    signal.addEventListener("abort", end);
  });
}
