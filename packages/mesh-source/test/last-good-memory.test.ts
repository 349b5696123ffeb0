import { resource, ResourceSet } from "@istiod/resources";
import { expect, test } from "vitest";
import { LastGoodMemory } from "../src/last-good-memory.js";

const mebibyte = 1024 * 1024;
const keepMs = 600_000;

/** Last good resources of a client, of this many bytes. */
const lastGood = (bytes: number) => new Map([["type", ResourceSet.of([resource("r", new Uint8Array(bytes))])]]);

test("remembers the resources of a client for ten minutes, and returns them once", () => {
  const memory = new LastGoodMemory();
  const [early, late] = [lastGood(1), lastGood(2)];
  memory.remember("a", early, 0);
  memory.remember("b", late, 0);
  expect(memory.recall("a", keepMs - 1)).toBe(early);
  expect(memory.recall("a", keepMs - 1)).toBeUndefined();
  expect(memory.recall("b", keepMs)).toBeUndefined();
});

test("drops the oldest clients if all resources are larger than 16 MiB", () => {
  const memory = new LastGoodMemory();
  for (let n = 0; n < 100; n++) memory.remember(`c${n}`, lastGood(mebibyte), n);
  const kept = Array.from({ length: 100 }, (_, n) => n).filter((n) => memory.recall(`c${n}`, 100) !== undefined);
  expect(kept).toEqual(Array.from({ length: 15 }, (_, n) => 85 + n));
});

test("drops resources that are larger than all that it may keep", () => {
  const memory = new LastGoodMemory();
  memory.remember("large", lastGood(17 * mebibyte), 0);
  expect(memory.recall("large", 0)).toBeUndefined();
  memory.remember("small", lastGood(1), 0);
  expect(memory.recall("small", 0)).toBeDefined();
});

test("counts the resources of a client once, and those that were recalled no more", () => {
  const memory = new LastGoodMemory();
  for (let n = 0; n < 100; n++) memory.remember("same", lastGood(mebibyte), 0);
  for (let n = 0; n < 100; n++) {
    memory.remember("other", lastGood(mebibyte), 0);
    memory.recall("other", 0);
  }
  expect(memory.recall("same", 0)).toBeDefined();
});

test("drops clients whose time has passed, and those without failures", () => {
  const memory = new LastGoodMemory();
  memory.remember("a", lastGood(1), 0);
  memory.remember("a", new Map(), 1);
  expect(memory.recall("a", 1)).toBeUndefined();
});
