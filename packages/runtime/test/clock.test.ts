import { createClock, monotonicClock, systemClock } from "@istiod/runtime";
import { FakeClock } from "@istiod/runtime/testing";
import { expect, it, vi } from "vitest";

it("the fake clock calls back due timers in order of their time, and those that they start", () => {
  const clock = new FakeClock(1000);
  const calls: [string, number][] = [];
  const record = (name: string) => () => void calls.push([name, clock.now()]);
  clock.after(20, record("b"));
  clock.after(10, () => {
    record("a")();
    clock.after(5, record("c"));
  });
  const cancel = clock.after(15, record("canceled"));
  clock.after(100, record("late"));
  cancel();
  clock.advance(50);
  expect(calls).toEqual([
    ["a", 1010],
    ["c", 1015],
    ["b", 1020],
  ]);
  expect(clock.now()).toBe(1050);
  expect(clock.pending).toEqual([50]);
});

it.each([
  ["systemClock", systemClock],
  ["monotonicClock", monotonicClock],
  ["a clock that keeps the process alive", createClock({ keepsProcessAlive: true })],
])("%s does not cut a timer of more than 24 days short, and cancels it", (_, clock) => {
  vi.useFakeTimers();
  try {
    let calls = 0;
    clock.after(2 ** 31 + 1000, () => calls++);
    const cancel = clock.after(2 ** 31 + 1000, () => (calls += 10));
    vi.advanceTimersByTime(2 ** 31);
    expect(calls).toBe(0);
    cancel();
    vi.advanceTimersByTime(1000);
    expect(calls).toBe(1);
  } finally {
    vi.useRealTimers();
  }
});

it("systemClock follows the system's date, and monotonicClock does not", () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 5 });
  try {
    expect(systemClock.now()).toBe(5);
    expect(monotonicClock.now()).toBeGreaterThan(1_600_000_000_000);
  } finally {
    vi.useRealTimers();
  }
});
