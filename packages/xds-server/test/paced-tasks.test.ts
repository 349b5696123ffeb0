import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { PacedTasks } from "../src/transport/paced-tasks.js";

function scene(perTurn: number) {
  const tasks = new PacedTasks(perTurn);
  const ran: string[] = [];
  const push = (peer: string, count: number): void => {
    for (let i = 1; i <= count; i++) tasks.run(peer, () => void ran.push(`${peer}${i}`));
  };
  return { ran, push };
}

test("few tasks run in a turn of the event loop, the first ones at once", async () => {
  const { ran, push } = scene(3);
  push("a", 8);
  expect(ran).toEqual(["a1", "a2", "a3"]);
  await nextTurn();
  expect(ran).toHaveLength(6);
  push("a", 1);
  await nextTurn();
  await nextTurn();
  expect(ran).toEqual(["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a1"]);
});

test("peers take turns", async () => {
  const { ran, push } = scene(2);
  push("a", 1000);
  push("b", 2);
  await nextTurn();
  await nextTurn();
  expect(ran).toEqual(["a1", "a2", "a3", "b1", "a4", "b2"]);
});

test("a task may add another one", async () => {
  const tasks = new PacedTasks(1);
  const ran: number[] = [];
  tasks.run("a", () => void ran.push(1));
  tasks.run("a", () => tasks.run("a", () => void ran.push(3)));
  tasks.run("a", () => void ran.push(2));
  for (let turn = 0; turn < 4; turn++) await nextTurn();
  expect(ran).toEqual([1, 2, 3]);
});
