import type { Column } from "@istiod/bench";
import { type Bounds, type Effect, mebibytes, violations } from "./attack.js";

/** Columns of a table of effects. */
export function effectColumns(bounds: Bounds): readonly Column<Effect>[] {
  return [
    { head: "attack", of: ({ attack }) => attack, left: true, width: 24 },
    { head: "memory", of: ({ rssGrowth }) => `+${mebibytes(rssGrowth)}`, width: 9 },
    { head: "/ready p99", of: ({ ready }) => `${ready.p99.toFixed(0)} ms`, width: 10 },
    { head: "max", of: ({ ready }) => `${ready.max.toFixed(0)} ms`, width: 8 },
    { head: "failed", of: ({ ready }) => String(ready.failures), width: 6 },
    { head: "turn", of: ({ longestTurnMs: ms }) => (ms === undefined ? "–" : `${ms.toFixed(0)} ms`), width: 7 },
    { head: "streams lost", of: ({ streamsLost }) => String(streamsLost), width: 12 },
    { head: "joined", of: ({ joinedMs }) => (joinedMs === undefined ? "no" : `${joinedMs.toFixed(0)} ms`), width: 8 },
    { head: "updated", of: ({ updated }) => (updated ? "yes" : "no"), width: 7 },
    { head: "verdict", of: (effect) => violations(effect, bounds).join(", ") || "held", left: true, width: 8 },
    { head: "sent", of: ({ sent }) => sent, left: true },
  ];
}
