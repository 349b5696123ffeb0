import { setImmediate as nextTurn } from "node:timers/promises";
import { FakeClock } from "@istiod/runtime/testing";
import { expect, test } from "vitest";
import { LoopTimers } from "../src/loop-timers.js";

test("few of the callbacks that are due together run in a turn of the event loop", async () => {
  const clock = new FakeClock(0);
  const timers = new LoopTimers(clock);
  let called = 0;
  const stops = Array.from({ length: 200 }, () => timers.after(1000, () => called++));
  clock.advance(1000);
  expect(called).toBe(0);
  clock.advance(1000);
  expect(called).toBe(64);
  stops[199]?.();
  const perTurn: number[] = [];
  for (let before = called; perTurn.length < 10; before = called) {
    await nextTurn();
    perTurn.push(called - before);
  }
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(64);
  expect(called).toBe(199);
});
