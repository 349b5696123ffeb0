import type { LongTurn } from "@istiod/bench";

/** An answer of `/ready`. Times are in milliseconds. */
export interface ReadyAnswer {
  /** Since the epoch. */
  readonly endedAt: number;
  readonly ms: number;
}

/**
 * The cause of a slow answer: a turn of istiod's event loop that ran, or one that had no CPU. Otherwise, the delay was
 * in the kernel or in the prober.
 */
export type SlowCause = "istiod ran" | "istiod had no CPU" | "elsewhere";

/** Returns the cause to which at least half of the time of an answer is due. */
export function causeOf({ endedAt, ms }: ReadyAnswer, turns: readonly LongTurn[]): SlowCause {
  let ran = 0;
  let waited = 0;
  for (const turn of turns) {
    const overlap = Math.min(turn.endedAt, endedAt) - Math.max(turn.endedAt - turn.ms, endedAt - ms);
    if (overlap <= 0) continue;
    const share = overlap / turn.ms;
    ran += share * (turn.ranMs ?? turn.ms);
    waited += share * (turn.waitedMs ?? 0);
  }
  if (ran + waited < ms / 2) return "elsewhere";
  return ran >= waited ? "istiod ran" : "istiod had no CPU";
}

/** Returns the number of answers slower than a limit, by cause. */
export function slowAnswers(
  answers: readonly ReadyAnswer[],
  turns: readonly LongTurn[],
  limitMs: number,
): ReadonlyMap<SlowCause, number> {
  const counts = new Map<SlowCause, number>();
  for (const answer of answers) {
    if (answer.ms <= limitMs) continue;
    const cause = causeOf(answer, turns);
    counts.set(cause, (counts.get(cause) ?? 0) + 1);
  }
  return counts;
}
