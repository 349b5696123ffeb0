import { resource, type Resource } from "@istiod/resources";
import { expect, test } from "vitest";
import { DoubtMemory, type UncertainNames } from "../src/protocol/doubt-memory.js";

const mebibyte = 1024 * 1024;

/** A stream that ends with as many resources of 1,000 bytes in doubt. */
function ending(client: string, count: number): { uncertainNames: () => UncertainNames } {
  const resources = Array.from({ length: count }, (_, i): [string, readonly Resource[]] => {
    const name = `${client}-${i}`;
    return [name, [resource(name, new Uint8Array(1000))]];
  });
  return { uncertainNames: () => new Map([["type", new Map(resources)]]) };
}

test("the names of the oldest clients are forgotten when all have more bytes than a share of the heap", () => {
  const memory = new DoubtMemory(1000, 64 * mebibyte);
  for (const client of ["a", "b", "c", "d"]) memory.remember(client, ending(client, 600), 0);
  const recalled = ["a", "b", "c", "d"].map((client) => memory.recall(client, 1)?.get("type")?.size);
  expect(recalled).toEqual([undefined, undefined, 600, 600]);
});

test("names without a resource count, too", () => {
  const memory = new DoubtMemory(1000, mebibyte);
  const names = new Map(Array.from({ length: 400 }, (_, i) => [`name-${i}`, []]));
  memory.remember("a", { uncertainNames: () => new Map([["type", names]]) }, 0);
  expect(memory.recall("a", 1)).toBeUndefined();
});

test("a client's names are recalled once, and not after their time", () => {
  const memory = new DoubtMemory(1000);
  memory.remember("a", ending("a", 3), 0);
  memory.remember("b", ending("b", 3), 0);
  expect(memory.recall("a", 999)?.get("type")?.size).toBe(3);
  expect(memory.recall("a", 999)).toBeUndefined();
  expect(memory.recall("b", 1000)).toBeUndefined();
});
