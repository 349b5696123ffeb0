import { setTimeout as sleep } from "node:timers/promises";

/**
 * Polls until the result is neither undefined nor false, and returns it. A thrown error counts as undefined.
 *
 * @throws Error with `what` and the last error, after `withinMs`
 */
export async function eventually<T>(
  what: string,
  ask: () => T | Promise<T>,
  withinMs = 20_000,
  everyMs = 25,
): Promise<Exclude<T, undefined | false>> {
  let reason = "";
  for (const until = Date.now() + withinMs; ; await sleep(everyMs)) {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer as Exclude<T, undefined | false>;
      reason = "";
    } catch (error) {
      reason = error instanceof Error ? `: ${error.message}` : `: ${String(error)}`;
    }
    if (Date.now() > until) throw new Error(`not within ${withinMs / 1000} s: ${what}${reason}`);
  }
}
