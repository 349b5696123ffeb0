import { expect, it } from "vitest";
import { RecentMap } from "../src/apply/recent-map.js";

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
