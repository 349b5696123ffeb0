import { setTimeout as sleep } from "node:timers/promises";

/**
 * Asks until there is an answer other than undefined or false, and gives it. A thrown error counts as not yet.
 *
 * @throws Error that names what was waited for and why it was not there, after `withinMs`
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
