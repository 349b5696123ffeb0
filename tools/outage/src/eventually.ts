import { setTimeout as wait } from "node:timers/promises";

/**
 * Repeats a check until it returns undefined.
 *
 * @param check returns what is still missing
 * @throws Error with what was missing at the deadline
 */
export async function eventually(
  check: () => string | undefined | Promise<string | undefined>,
  deadlineMs: number,
): Promise<void> {
  const until = performance.now() + deadlineMs;
  for (;;) {
    const missing = await check();
    if (missing === undefined) return;
    if (performance.now() > until) throw new Error(`after ${deadlineMs / 1000} s: ${missing}`);
    await wait(50);
  }
}
