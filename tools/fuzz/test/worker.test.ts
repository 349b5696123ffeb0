import { expect, it } from "vitest";
import { runInWorker } from "../src/run-in-worker.js";
import { selfTests } from "../src/targets/self-tests.js";

const run = (name: string, hangMs: number) =>
  runInWorker(name, { cases: 100_000, seed: 1, corpus: [], hangMs, heapMiB: 64 });

it("a hang is a fault with its input", async () => {
  const { fault } = await run("self-test-hang", 2000);
  expect(fault?.message).toBe("no answer within 2000 ms");
  expect([...(fault?.input ?? [])]).toContain(selfTests.trigger);
}, 60_000);

it("an input for which the worker waits is a fault", async () => {
  const { fault } = await run("self-test-wait", 200);
  expect(fault?.message).toBe("still waiting after 2400 ms");
  expect([...(fault?.input ?? [])]).toContain(selfTests.trigger);
}, 60_000);

it("an exhausted heap is a fault", async () => {
  const { fault } = await run("self-test-heap", 50_000);
  expect(fault?.message).toContain("ERR_WORKER_OUT_OF_MEMORY");
}, 60_000);

it("a target without faults runs all its cases", async () => {
  const { cases, fault } = await runInWorker("wire-fields", { cases: 1000, seed: 1, corpus: [] });
  expect(fault).toBeUndefined();
  expect(cases).toBe(1002);
}, 60_000);
