import { mebibytes } from "../attack.js";
import { percentile } from "../percentile.js";
import type { LostStream } from "./honest-proxies.js";
import { slowAnswers, type SlowCause } from "./ready-causes.js";
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
  const { exits, lost, differences, ready, readyFailures, turns, heap, failedAttacks } = result;
  const p99 = percentile(
    ready.map(({ ms }) => ms),
    0.99,
  );
  const growth = (100 * (heap.end - heap.early)) / heap.early;
  return [
    { bar: "istiod does not exit", held: exits === 0, figure: `${exits} exits` },
    { bar: "no honest stream ends while istiod runs", held: lost.length === 0, figure: lostStreams(lost) },
    { bar: "no lost updates", held: differences.length === 0, figure: `${differences.length} differences` },
    {
      bar: `/ready p99 at most ${readyMs} ms`,
      held: ready.length > 0 && p99 <= readyMs,
      figure: `${p99.toFixed(0)} ms of ${ready.length} answers${slow(slowAnswers(ready, turns, readyMs))}`,
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

/** Returns the number of lost streams, and for each reason the first of them. */
function lostStreams(lost: readonly LostStream[]): string {
  const byReason = new Map<string, LostStream[]>();
  for (const stream of lost) byReason.set(stream.reason, [...(byReason.get(stream.reason) ?? []), stream]);
  const reasons = [...byReason].map(
    ([reason, [first, ...others]]) => `; ${others.length + 1} × ${reason}, first ${first?.proxy} ${first?.context}`,
  );
  return [`${lost.length} ended`, ...reasons].join("");
}

/** Returns the number of slow answers by cause. */
function slow(counts: ReadonlyMap<SlowCause, number>): string {
  const causes = [...counts].map(([cause, count]) => `${count} because ${reasons[cause]}`);
  return causes.length === 0 ? "" : `; above the limit: ${causes.join(", ")}`;
}

const reasons: Readonly<Record<SlowCause, string>> = {
  "istiod ran": "istiod's event loop was running",
  "istiod had no CPU": "istiod waited for a CPU",
  elsewhere: "of the prober or the kernel",
};
