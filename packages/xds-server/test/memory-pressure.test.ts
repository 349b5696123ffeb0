import { FakeClock } from "@istiod/runtime/testing";
import { expect, test } from "vitest";
import { MemoryPressure, type MemoryUse } from "../src/limits/memory-pressure.js";

const limit = 1000;

function scene() {
  const clock = new FakeClock();
  let use: MemoryUse = {
    heap: 100,
    live: 100,
    heapLimit: limit,
    resident: 200,
    containerLimit: undefined,
    collections: 0,
  };
  let connections = 100;
  const log: string[] = [];
  const pressure = new MemoryPressure({
    meter: { read: () => use, collect: () => log.push("collect"), stop: () => log.push("stop") },
    clock,
    threshold: 0.85,
    connections: () => connections,
    shed: (count) => (log.push(`shed ${count}`), (connections -= count)),
    changed: (isHigh, used) => log.push(`${isHigh ? "high" : "low"} ${used}`),
  });
  const step = (change: Partial<MemoryUse>): string[] => {
    use = { ...use, ...change };
    clock.advance(1000);
    return log.splice(0);
  };
  return { pressure, step };
}

test("garbage near the limit of the heap is no pressure", () => {
  const { pressure, step } = scene();
  expect(step({ heap: 990, live: 300 })).toEqual([]);
  expect(step({ heap: 990, live: undefined })).toEqual([]);
  expect(pressure.isHigh).toBe(false);
});

test("an episode rejects newcomers, closes the newest connections after each collection, and ends below the threshold", () => {
  const { pressure, step } = scene();
  expect(step({ heap: 920, live: 900, collections: 1 })).toEqual(["high 900", "shed 10"]);
  expect(pressure.isHigh).toBe(true);
  expect(step({ heap: 930 })).toEqual([]);
  expect(step({ heap: 900, live: 880, collections: 2 })).toEqual(["shed 9"]);
  expect(step({ heap: 800, live: 780, collections: 3 })).toEqual(["shed 9"]);
  expect(step({ heap: 760, live: 750, collections: 4 })).toEqual(["low 750"]);
  expect(pressure.isHigh).toBe(false);
});

test("without a collection one is requested, so that an episode ends", () => {
  const { step } = scene();
  step({ heap: 920, live: 900, collections: 1 });
  const later = [1, 2, 3, 4, 5].flatMap(() => step({}));
  expect(later).toEqual(["collect"]);
  expect(step({ heap: 300, live: 300, collections: 2 })).toEqual(["low 300"]);
});

test("the limit of the container counts without what can be garbage", () => {
  const { pressure, step } = scene();
  expect(step({ resident: 1900, containerLimit: 2000, heap: 900, live: 100 })).toEqual([]);
  expect(step({ resident: 1900, heap: 200, live: 100 })).toEqual(["high 1800", "shed 10"]);
  expect(pressure.isHigh).toBe(true);
});

test("a stopped server measures nothing", () => {
  const { pressure, step } = scene();
  pressure.stop();
  expect(step({ heap: 990, live: 990, collections: 1 })).toEqual(["stop"]);
});
