import { setImmediate as turn } from "node:timers/promises";
import { FairQueue } from "@istiod/runtime";
import { expect, it } from "vitest";

const never = new AbortController().signal;

it("runs one task at a time, and groups take turns", async () => {
  const queue = new FairQueue();
  const begun: string[] = [];
  let running = 0;
  const task = (name: string) => async () => {
    begun.push(name);
    expect(++running).toBe(1);
    await turn();
    running--;
    return name;
  };
  const results = [
    ...["a1", "a2", "a3"].map((name) => queue.run("a", never, task(name))),
    ...["b1", "b2"].map((name) => queue.run("b", never, task(name))),
  ];
  expect(await Promise.all(results)).toEqual(["a1", "a2", "a3", "b1", "b2"]);
  expect(begun).toEqual(["a1", "b1", "a2", "b2", "a3"]);
});

it("other events are handled between two tasks", async () => {
  const queue = new FairQueue();
  const order: string[] = [];
  const tasks = ["first", "second"].map((name) => queue.run("a", never, () => void order.push(name)));
  void tasks[0]?.then(() => setImmediate(() => order.push("between")));
  await Promise.all(tasks);
  await turn();
  expect(order.slice(0, 2)).toEqual(["first", "between"]);
});

it("does not run tasks whose callers have gone", async () => {
  const queue = new FairQueue();
  const gone = new AbortController();
  const ran: string[] = [];
  const first = queue.run("a", never, () => void ran.push("first"));
  const second = queue.run("a", gone.signal, () => void ran.push("second"));
  const other = queue.run("b", gone.signal, () => void ran.push("other"));
  const third = queue.run("a", never, () => void ran.push("third"));
  gone.abort(new Error("gone"));
  await expect(second).rejects.toThrow("gone");
  await expect(other).rejects.toThrow("gone");
  await expect(queue.run("a", gone.signal, () => undefined)).rejects.toThrow("gone");
  await Promise.all([first, third]);
  expect(ran).toEqual(["first", "third"]);
});

it("a task that fails does not stop the next one", async () => {
  const queue = new FairQueue();
  const failed = queue.run("a", never, () => {
    throw new Error("no");
  });
  await expect(failed).rejects.toThrow("no");
  expect(await queue.run("a", never, () => "yes")).toBe("yes");
});

it("with a budget, begins tasks of a turn until it is used up, without waiting for their ends", async () => {
  let now = 0;
  const queue = new FairQueue({ budgetMs: 20, now: () => now });
  const begun: string[] = [];
  const task = (name: string) => () => {
    begun.push(name);
    now += 9;
    return new Promise<void>(() => undefined);
  };
  for (const name of ["a1", "a2", "a3", "a4"]) void queue.run("a", never, task(name));
  void queue.run("b", never, task("b1"));
  await turn();
  expect(begun).toEqual(["a1", "b1", "a2"]);
  await turn();
  expect(begun).toEqual(["a1", "b1", "a2", "a3", "a4"]);
});
