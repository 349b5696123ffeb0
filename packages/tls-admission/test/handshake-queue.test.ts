import { expect, test } from "vitest";
import { HandshakeQueue } from "../src/handshake-queue.js";

function scene(total: number, perGroup: number) {
  const queue = new HandshakeQueue<string>({ total, perGroup });
  const push = (group: string, count: number): void => {
    for (let i = 1; i <= count; i++) queue.push(`${group}${i}`, group);
  };
  const begin = (): string[] => {
    const begun: string[] = [];
    for (let next = queue.begin(); next !== undefined; next = queue.begin())
      begun.push(next.instead === undefined ? next.connection : `${next.connection} instead of ${next.instead}`);
    return begun;
  };
  return { queue, push, begin };
}

test("groups take turns, and one group has at most its share", () => {
  const { queue, push, begin } = scene(4, 2);
  push("a", 4);
  push("b", 1);
  expect(begin()).toEqual(["a1", "b1", "a2"]);
  expect(queue.inProgress).toBe(3);
  queue.delete("a1");
  expect(begin()).toEqual(["a3"]);
});

test("a place goes to the group with the fewest handshakes in progress", () => {
  const { queue, push, begin } = scene(3, 3);
  push("a", 9);
  expect(begin()).toEqual(["a1", "a2", "a3"]);
  push("b", 2);
  queue.delete("a1");
  expect(begin()).toEqual(["b1"]);
  queue.delete("a2");
  expect(begin()).toHaveLength(1);
  queue.delete("a3");
  queue.delete("b1");
  expect(begin()).toContain("b2");
});

test("a slow handshake loses its place to its own group, or to one that has fewer", () => {
  const { queue, push, begin } = scene(3, 2);
  push("a", 2);
  push("b", 1);
  expect(begin()).toEqual(["a1", "b1", "a2"]);
  for (const connection of ["a2", "b1"]) queue.markSlow(connection);
  push("c", 1);
  expect(begin()).toEqual(["c1 instead of a2"]);
  push("a", 1);
  queue.markSlow("c1");
  expect(begin()).toEqual([]);
  expect(queue.inProgress).toBe(3);
});

test("a connection that was closed while it waited is forgotten", () => {
  const { queue, push, begin } = scene(1, 1);
  push("a", 3);
  expect(begin()).toEqual(["a1"]);
  queue.delete("a2", "a");
  queue.delete("a1");
  expect(begin()).toEqual(["a3"]);
  queue.delete("a3");
  expect([queue.inProgress, queue.begin()]).toEqual([0, undefined]);
});
