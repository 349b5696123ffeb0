import { expect, it } from "vitest";
import { FairQueue } from "../src/service/fair-queue.js";

/** A queue whose entries finish when told to. */
function controlled(capacity: number, concurrency = 1) {
  const queue = new FairQueue({ capacity, concurrency });
  const started: string[] = [];
  const rejected: string[] = [];
  const finish: (() => void)[] = [];
  const push = (caller: string, name: string): void =>
    queue.push(
      caller,
      () => {
        started.push(name);
        return new Promise((resolve) => finish.push(resolve));
      },
      () => rejected.push(name),
    );
  const finishOne = async (): Promise<void> => {
    finish.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { queue, started, rejected, push, finishOne };
}

it("serves callers in turn, however many entries one of them has", async () => {
  const { started, push, finishOne } = controlled(100);
  for (let n = 0; n < 5; n++) push("a", `a${n}`);
  push("b", "b0");
  push("c", "c0");
  push("b", "b1");
  for (let n = 0; n < 8; n++) await finishOne();
  expect(started).toEqual(["a0", "a1", "b0", "c0", "a2", "b1", "a3", "a4"]);
});

it("runs at most `concurrency` entries at the same time", async () => {
  const { queue, started, push, finishOne } = controlled(100, 3);
  for (let n = 0; n < 5; n++) push("a", `a${n}`);
  expect(started).toEqual(["a0", "a1", "a2"]);
  expect(queue.length).toBe(2);
  await finishOne();
  expect(started).toEqual(["a0", "a1", "a2", "a3"]);
});

it("rejects the newest entry of the caller with the most when it is full", () => {
  const { queue, rejected, push } = controlled(4);
  for (let n = 0; n < 5; n++) push("greedy", `g${n}`);
  push("greedy", "g5");
  expect(rejected).toEqual(["g5"]);
  push("honest", "h0");
  expect(rejected).toEqual(["g5", "g4"]);
  push("honest", "h1");
  expect(rejected).toEqual(["g5", "g4", "g3"]);
  push("honest", "h2");
  expect(rejected).toEqual(["g5", "g4", "g3", "h2"]);
  expect(queue.length).toBe(4);
});

it("keeps nothing of callers without entries", async () => {
  const { queue, started, push, finishOne } = controlled(1000, 2);
  for (let n = 0; n < 500; n++) push(`caller ${n}`, `${n}`);
  for (let n = 0; n < 500; n++) await finishOne();
  expect(started).toHaveLength(500);
  expect(queue.length).toBe(0);
  push("a", "last");
  expect(started.at(-1)).toBe("last");
});
