import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../clock.js";

const patienceMs = 1000;

/**
 * Limits how many streams are opened in a second: one that comes too early waits for its turn, and is refused if that is more than a
 * second away. (As Istio does by `PILOT_MAX_REQUESTS_PER_SECOND`, with a burst of one.)
 *
 * @throws ConnectError with `ResourceExhausted`
 */
export function admission(perSecond: number | undefined, clock: Clock): () => Promise<void> {
  if (perSecond === undefined) return () => Promise.resolve();
  const intervalMs = 1000 / perSecond;
  let next = 0;
  return async () => {
    const now = clock.now();
    const turn = Math.max(now, next);
    if (turn - now > patienceMs)
      throw new ConnectError(`more than ${perSecond} new streams a second`, Code.ResourceExhausted);
    next = turn + intervalMs;
    if (turn > now) await new Promise<void>((resolve) => clock.after(turn - now, resolve));
  };
}
