import type { IndexFailure } from "@istiod/incremental";
import { type Clock, LineBudget, monotonicClock, shortened } from "@istiod/runtime";
import type { Logger } from "pino";

/** Returns a function that logs objects that an index cannot hold, within a budget of lines. */
export function indexFailureLog(log: Logger, clock: Clock = monotonicClock): (failure: IndexFailure) => void {
  const lines = new LineBudget(clock);
  return (failure) => {
    const more = lines.take();
    if (more === undefined) return;
    const [object, { message }] = describeIndexFailure(failure);
    log.error({ object: shortened(object, 256), reason: shortened(message), ...more }, "object cannot be indexed");
  };
}

/** Returns an object that an index cannot hold, with the index and the error, as in `/debug/push_status`. */
export function describeIndexFailure({ index, key, error }: IndexFailure): [string, { readonly message: string }] {
  return [`${index.collection.name} ${key}`, { message: `index ${index.name}: ${messageOf(error)}` }];
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : typeof error;
}
