import { mebibytes } from "../attack.js";
import { percentile } from "../percentile.js";
import type { SoakResult } from "./soak-run.js";

/** A requirement of a soak, and the figure that it was measured by. */
export interface Verdict {
  readonly bar: string;
  readonly held: boolean;
  readonly figure: string;
}

const readyMs = 250;

/** Returns a verdict for each bar. @param growthLimit percentage of the heap after collection */
export function verdicts(result: SoakResult, growthLimit: number): readonly Verdict[] {
  const { exits, lost, differences, ready, readyFailures, heap, failedAttacks } = result;
  const p99 = percentile(ready, 0.99);
  const growth = (100 * (heap.end - heap.early)) / heap.early;
  const ended = [...lost.values()].reduce((sum, count) => sum + count, 0);
  const reasons = [...lost].map(([reason, count]) => `; ${count} × ${reason}`).join("");
  return [
    { bar: "istiod does not exit", held: exits === 0, figure: `${exits} exits` },
    { bar: "no honest stream ends while istiod runs", held: ended === 0, figure: `${ended} ended${reasons}` },
    { bar: "no lost updates", held: differences.length === 0, figure: `${differences.length} differences` },
    {
      bar: `/ready p99 at most ${readyMs} ms`,
      held: ready.length > 0 && p99 <= readyMs,
      figure: `${p99.toFixed(0)} ms of ${ready.length} answers`,
    },
    { bar: "/ready does not fail", held: readyFailures === 0, figure: `${readyFailures} failures` },
    {
      bar: `heap after collection grows by at most ${growthLimit} %`,
      held: growth <= growthLimit,
      figure: `${growth.toFixed(1)} %, from ${mebibytes(heap.early)} to ${mebibytes(heap.end)}`,
    },
    {
      bar: "no attack throws",
      held: failedAttacks.length === 0,
      figure: [`${failedAttacks.length} attacks`, ...failedAttacks].join("; "),
    },
  ];
}
