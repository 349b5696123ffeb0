import { expect, it } from "vitest";
import { HangWatch, threadCpuMs } from "../src/hang-watch.js";

it("counts the CPU time of an input: a worker that gets no processor does not hang", () => {
  const watch = new HangWatch(1000);
  expect(watch.observe({ cases: 1, cpuMs: 500, wallMs: 0 })).toBeUndefined();
  expect(watch.observe({ cases: 1, cpuMs: 900, wallMs: 9000 })).toBeUndefined();
  expect(watch.observe({ cases: 2, cpuMs: 1400, wallMs: 9500 })).toBeUndefined();
  expect(watch.observe({ cases: 2, cpuMs: 2300, wallMs: 20_000 })).toBeUndefined();
  expect(watch.observe({ cases: 2, cpuMs: 2400, wallMs: 21_000 })).toBe("no answer within 1000 ms");
});

it("counts the time of an input for which the worker waits", () => {
  const watch = new HangWatch(1000);
  expect(watch.observe({ cases: 1, cpuMs: 0, wallMs: 0 })).toBeUndefined();
  expect(watch.observe({ cases: 1, cpuMs: 1, wallMs: 11_900 })).toBeUndefined();
  expect(watch.observe({ cases: 1, cpuMs: 1, wallMs: 12_000 })).toBe("still waiting after 12000 ms");
});

it("counts the time of the clock where the system does not tell that of threads", () => {
  const watch = new HangWatch(1000);
  expect(watch.observe({ cases: 1, cpuMs: undefined, wallMs: 0 })).toBeUndefined();
  expect(watch.observe({ cases: 1, cpuMs: undefined, wallMs: 1000 })).toBe("no answer within 1000 ms");
  expect(threadCpuMs(0)).toBeUndefined();
});
