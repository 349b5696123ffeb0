import { setImmediate } from "node:timers/promises";

/** Called between steps of long work. Returns a promise to wait for if a slice of time is used up. */
export type Pause = () => Promise<void> | undefined;

/**
 * Returns a function for long work to call between steps, so that the event loop gets a turn every `ms` milliseconds.
 *
 * @param turn yields to the event loop; default: `setImmediate`
 */
export function pauseEvery(ms: number, turn: () => Promise<unknown> = setImmediate): Pause {
  let sliceStart = performance.now();
  return () => {
    if (performance.now() - sliceStart < ms) return undefined;
    return turn().then(() => {
      sliceStart = performance.now();
    });
  };
}
