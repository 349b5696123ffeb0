import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "@istiod/settings";

const maxDelayMs = 1000;

/**
 * Returns a rate limiter for new streams. A stream over the limit is delayed, or rejected if the delay would exceed a
 * second. Corresponds to Istio's `PILOT_MAX_REQUESTS_PER_SECOND`, with a burst of one.
 *
 * @throws ConnectError with `ResourceExhausted`
 */
export function admission(perSecond: number | undefined, clock: Clock): () => Promise<void> {
  if (perSecond === undefined) return () => Promise.resolve();
  const intervalMs = 1000 / perSecond;
  let next = 0;
  return async () => {
    const now = clock.now();
    const start = Math.max(now, next);
    if (start - now > maxDelayMs)
      throw new ConnectError(`more than ${perSecond} new streams a second`, Code.ResourceExhausted);
    next = start + intervalMs;
    if (start > now) await new Promise<void>((resolve) => clock.after(start - now, resolve));
  };
}
