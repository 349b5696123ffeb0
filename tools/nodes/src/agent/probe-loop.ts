import { setTimeout as sleep } from "node:timers/promises";
import type { Probe } from "../kube/objects.js";
import { type ActionTarget, execute } from "./actions.js";

export interface ProbeEvents {
  /** Called when enough results in a row are the same and differ from the state before. */
  changed(isHealthy: boolean, reason: string): void;
}

/** Repeats a probe until the signal is aborted. The state before the first result is `initial`. */
export async function repeatProbe(
  probe: Probe,
  target: ActionTarget,
  initial: boolean | undefined,
  events: ProbeEvents,
  signal: AbortSignal,
): Promise<void> {
  const { initialDelaySeconds = 0, periodSeconds = 10, timeoutSeconds = 1 } = probe;
  const { successThreshold = 1, failureThreshold = 3 } = probe;
  let state = initial;
  let last: boolean | undefined;
  let count = 0;
  const wait = (seconds: number): Promise<void> => sleep(seconds * 1000, undefined, { signal });
  try {
    await wait(initialDelaySeconds);
    for (;;) {
      const reason = await execute(probe, target, timeoutSeconds * 1000).then(
        () => "",
        (error: Error) => error.message,
      );
      if (signal.aborted) return;
      const isSuccess = reason === "";
      count = last === isSuccess ? count + 1 : 1;
      last = isSuccess;
      if (state !== isSuccess && count >= (isSuccess ? successThreshold : failureThreshold)) {
        state = isSuccess;
        events.changed(isSuccess, reason);
      }
      await wait(periodSeconds);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
