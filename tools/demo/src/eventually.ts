import { setTimeout as sleep } from "node:timers/promises";

/**
 * Polls until the result is true. Returns false after `withinMs`, or once the awaited process has ended. A thrown error
 * counts as false.
 */
export async function eventually(
  ask: () => Promise<boolean>,
  withinMs: number,
  ended?: Promise<unknown>,
): Promise<boolean> {
  let over = false;
  void ended?.then(() => (over = true));
  for (const until = Date.now() + withinMs; Date.now() < until && !over; await sleep(50)) {
    if (await ask().catch(() => false)) return true;
  }
  return false;
}
