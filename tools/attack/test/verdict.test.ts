import { expect, it } from "vitest";
import { verdicts } from "../src/soak/verdict.js";
import type { SoakResult } from "../src/soak/soak-run.js";

const mebibyte = 1024 * 1024;
const good: SoakResult = {
  changes: 10,
  attacks: new Map(),
  failedAttacks: [],
  kills: 1,
  exits: 0,
  ready: [{ endedAt: 1000, ms: 20 }],
  readyFailures: 0,
  turns: [],
  lost: [],
  longestRecoveryMs: 1000,
  heap: { early: 100 * mebibyte, end: 105 * mebibyte },
  differences: [],
};

const failed = (result: Partial<SoakResult>): readonly string[] =>
  verdicts({ ...good, ...result }, 10).flatMap(({ bar, held, figure }) => (held ? [] : [`${bar}: ${figure}`]));

it("a run within all bars holds", () => {
  expect(failed({})).toEqual([]);
});

it("lost streams are counted by reason, with the first of each", () => {
  const lost = [
    { proxy: "a by delta", reason: "reset", context: "at 40 s during many-names from 127.0.0.1" },
    { proxy: "b by sotw", reason: "reset", context: "at 41 s" },
    { proxy: "c by delta", reason: "a ping timed out", context: "at 90 s" },
  ];
  expect(failed({ lost })).toEqual([
    "no honest stream ends while istiod runs: 3 ended" +
      "; 2 × reset, first a by delta at 40 s during many-names from 127.0.0.1" +
      "; 1 × a ping timed out, first c by delta at 90 s",
  ]);
});

it("slow answers of /ready are counted by cause", () => {
  const ready = [
    { endedAt: 1000, ms: 400 },
    { endedAt: 2000, ms: 300 },
    { endedAt: 3000, ms: 300 },
  ];
  const turns = [
    { endedAt: 1000, ms: 390, ranMs: 380, waitedMs: 10, collectedMs: 0, context: "at 1 s" },
    { endedAt: 2000, ms: 290, ranMs: 10, waitedMs: 280, collectedMs: 0, context: "at 2 s" },
  ];
  expect(failed({ ready, turns })).toEqual([
    "/ready p99 at most 250 ms: 400 ms of 3 answers; above the limit: 1 because istiod's event loop was running, " +
      "1 because istiod waited for a CPU, 1 because of the prober or the kernel",
  ]);
});

it("a run without answers of /ready fails", () => {
  expect(failed({ ready: [] })).toEqual(["/ready p99 at most 250 ms: 0 ms of 0 answers"]);
});

it("exits, failures, differences, growth and attacks that throw fail", () => {
  const bad = { exits: 1, readyFailures: 2, differences: ["x"], failedAttacks: ["many-names: refused"] };
  expect(failed({ ...bad, heap: { early: 100 * mebibyte, end: 111 * mebibyte } })).toHaveLength(5);
});
