import { existsSync } from "node:fs";
import { PerformanceObserver } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { type LongTurn, recordLongTurns } from "../src/server/long-turns.js";

/** Occupies the event loop. */
function run(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until;);
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

test("a turn of the event loop that delays others is recorded once, with the times that it ran and collected garbage", async (context) => {
  context.skip(!existsSync("/proc/self/schedstat"), "the system does not report the times of its scheduler");
  const take = recordLongTurns();
  const turns: LongTurn[] = [];
  const longest = (): LongTurn | undefined => [...turns].sort((a, b) => b.ms - a.ms)[0];
  // Collections are reported in a later turn.
  const begin = performance.now();
  const collected = new Promise<void>((resolve) => {
    const observer = new PerformanceObserver((list) => {
      if (list.getEntries().some(({ startTime }) => startTime >= begin + 400)) setImmediate(resolve);
    });
    observer.observe({ entryTypes: ["gc"] });
  });
  const startedAt = Date.now();
  run(400);
  collect();
  await collected;
  await expect.poll(() => turns.push(...take()), { timeout: 10_000 }).toBeGreaterThan(0);
  const turn = longest();
  expect(turn?.ms).toBeGreaterThanOrEqual(300);
  expect(turn?.ranMs).toBeGreaterThan(0);
  expect(turn?.collectedMs).toBeGreaterThan(0);
  expect(turn?.collectedMs).toBeLessThan(turn?.ms ?? 0);
  expect((turn?.ranMs ?? 0) + (turn?.waitedMs ?? 0)).toBeGreaterThanOrEqual(300);
  expect(turn?.endedAt).toBeGreaterThanOrEqual(startedAt);
  expect(take().every(({ endedAt }) => endedAt > (turn?.endedAt ?? Infinity))).toBe(true);
});
