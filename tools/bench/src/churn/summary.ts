import type { ChurningFleet } from "./fleet.js";
import { mib, type Sample } from "./sample.js";

export interface ChurnResult {
  readonly changes: Readonly<Record<string, number>>;
  readonly fleet: ChurningFleet["counts"];
  readonly cpuSecondsAChange: number;
  readonly memory: {
    readonly connected: Sample;
    readonly early: Sample;
    readonly end: Sample;
    readonly peakRss: number;
  };
  readonly missedUpdates: number;
  readonly differences: readonly string[];
}

/** Returns the lines that summarize a run. */
export function summary(
  { changes, fleet, cpuSecondsAChange, memory, missedUpdates, differences }: ChurnResult,
  changeCount: number,
  growth: number,
): string[] {
  const atThreeTimes = (of: (sample: Sample) => number): string =>
    [memory.connected, memory.early, memory.end].map((sample) => (of(sample) / 2 ** 20).toFixed(1)).join(", ");
  const rows: readonly (readonly [string, string])[] = [
    [
      "changes",
      `${changeCount}: ${Object.entries(changes)
        .sort(([, a], [, b]) => b - a)
        .map(([kind, times]) => `${kind} ${times}`)
        .join(", ")}`,
    ],
    ["responses accepted, rejected", `${fleet.responses}, ${fleet.refused}`],
    ["proxies that reconnected with their state, without it", `${fleet.returned}, ${fleet.replaced}`],
    ["pauses of slow proxies; streams closed by the server", `${fleet.paused}; ${fleet.ended}`],
    ["CPU of istiod per change", `${(cpuSecondsAChange * 1000).toFixed(1)} ms`],
    [
      "heap after GC: all connected, after the first part, at the end",
      `${atThreeTimes(({ heap }) => heap)} MiB (${growth >= 0 ? "+" : ""}${growth.toFixed(1)} % since the first part)`,
    ],
    [
      "code in the heap; buffers outside it",
      `${atThreeTimes(({ code }) => code)} MiB; ${atThreeTimes(({ external }) => external)} MiB`,
    ],
    [
      "RSS at the same times, and its peak",
      `${[memory.connected.rss, memory.early.rss, memory.end.rss, memory.peakRss].map(mib).join(", ")} MiB`,
    ],
    ["differences from a fresh computation", String(differences.length)],
    ["proxies that missed an update", String(missedUpdates)],
  ];
  const width = Math.max(...rows.map(([label]) => label.length));
  return rows.map(([label, value]) => `${label.padEnd(width)}  ${value}`);
}
