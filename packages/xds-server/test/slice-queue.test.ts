import { setImmediate as immediate } from "node:timers/promises";
import type { Clock } from "@istiod/runtime";
import { expect, it } from "vitest";
import { SliceQueue } from "../src/connection/slice-queue.js";

/** A clock that advances by a step whenever it is read. */
function steppingClock(step: number): Clock {
  let now = 0;
  return { now: () => (now += step), after: () => () => undefined };
}

async function orderOf(clock: Clock, works: Readonly<Record<string, number>>): Promise<string[][]> {
  const queue = new SliceQueue(clock);
  let turn: string[] = [];
  for (const [name, slices] of Object.entries(works)) {
    let left = slices;
    queue.add(() => (turn.push(name), --left > 0));
  }
  const turns: string[][] = [];
  while (queue.length > 0) {
    await immediate();
    turns.push(turn);
    turn = [];
  }
  return turns.filter(({ length }) => length > 0);
}

it("runs one slice of each piece of work in turn, and yields to the event loop when the time is up", async () => {
  expect(await orderOf(steppingClock(10), { a: 3, b: 1, c: 2 })).toEqual([["a"], ["b"], ["c"], ["a"], ["c"], ["a"]]);
});

it("runs more slices while there is time", async () => {
  expect(await orderOf(steppingClock(3), { a: 3, b: 1, c: 2 })).toEqual([
    ["a", "b", "c"],
    ["a", "c", "a"],
  ]);
});
