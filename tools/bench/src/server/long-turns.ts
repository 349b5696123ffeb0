import { readFileSync } from "node:fs";
import { PerformanceObserver } from "node:perf_hooks";

/** Variable that makes the probe record long turns. */
export const longTurnsVariable = "ISTIOD_BENCH_LONG_TURNS";

/** A turn of the event loop that delayed a timer. Times are in milliseconds. */
export interface LongTurn {
  /** Since the epoch. */
  readonly endedAt: number;
  readonly ms: number;
  /** Time that the thread ran. It is absent if the system does not report it. */
  readonly ranMs?: number;
  /** Time that the thread was ready to run, but had no CPU. */
  readonly waitedMs?: number;
  /** Pauses of the garbage collector. */
  readonly collectedMs: number;
}

/** Interval of the timer that is delayed, and the delay from which a turn is long. */
const intervalMs = 10;
const longMs = 50;

/** Records the long turns of the main thread. The returned function returns those since its last call. */
export function recordLongTurns(): () => readonly LongTurn[] {
  let turns: Omit<LongTurn, "collectedMs">[] = [];
  let collections: { readonly startedAt: number; readonly ms: number }[] = [];
  const observer = new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries())
      collections.push({ startedAt: performance.timeOrigin + startTime, ms: duration });
  });
  observer.observe({ entryTypes: ["gc"] });
  let before = performance.now();
  let times = schedulerTimes();
  setInterval(() => {
    const now = performance.now();
    const current = schedulerTimes();
    const ms = now - before - intervalMs;
    if (ms >= longMs)
      turns.push({
        endedAt: performance.timeOrigin + now,
        ms,
        ...(times && current && { ranMs: current.ranMs - times.ranMs, waitedMs: current.waitedMs - times.waitedMs }),
      });
    before = now;
    times = current;
  }, intervalMs).unref();
  return () => {
    const recorded = turns.map((turn) => {
      const within = collections.filter(({ startedAt }) => {
        return startedAt >= turn.endedAt - turn.ms - intervalMs && startedAt <= turn.endedAt;
      });
      return { ...turn, collectedMs: within.reduce((sum, { ms }) => sum + ms, 0) };
    });
    turns = [];
    collections = [];
    return recorded;
  };
}

/** Reads the times of the main thread. @see proc_pid_schedstat(5) */
function schedulerTimes(): { ranMs: number; waitedMs: number } | undefined {
  try {
    const [ran = 0, waited = 0] = readFileSync("/proc/self/schedstat", "utf8").split(" ").map(Number);
    return { ranMs: ran / 1e6, waitedMs: waited / 1e6 };
  } catch {
    return undefined;
  }
}
