import { setTimeout as sleep } from "node:timers/promises";

/**
 * Asks until the answer is yes; no after `withinMs`, or once what it waits for has ended. A thrown error counts as not
 * yet.
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
