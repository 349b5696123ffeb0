import { expect, it } from "vitest";
import { RecentMap } from "../src/index.js";

it("computes a value once, and again after the most recently used entries displaced it", () => {
  const computed: string[] = [];
  const map = new RecentMap<string>(3);
  const get = (key: string): string =>
    map.getOrCompute(key, () => {
      computed.push(key);
      return `value of ${key}`;
    });
  for (const key of ["a", "b", "a", "c", "a", "d", "a", "e", "a"]) expect(get(key)).toBe(`value of ${key}`);
  expect(computed).toEqual(["a", "b", "c", "d", "e"]);
  get("b");
  expect(computed.slice(5)).toEqual(["b"]);
});

it("keeps what was read or set last", () => {
  const map = new RecentMap<number>(2);
  map.set("a", 1);
  map.set("b", 2);
  expect(map.get("a")).toBe(1);
  map.set("c", 3);
  map.set("a", 4);
  expect(["a", "b", "c"].map((key) => map.get(key))).toEqual([4, undefined, 3]);
});
