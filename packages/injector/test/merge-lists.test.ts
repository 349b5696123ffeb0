import { expect, it } from "vitest";
import type { JsonObject } from "../src/go-types/json.js";
import { mergeLists } from "../src/strategic-merge/merge-lists.js";

/** Elements whose key is counted when it is read. */
function counted(count: number, reads: { count: number }): JsonObject[] {
  return Array.from({ length: count }, (_, at) =>
    Object.defineProperty({} as Record<string, unknown>, "name", {
      enumerable: true,
      get: () => {
        reads.count++;
        return `v${at}`;
      },
    }),
  );
}

const policy = {
  mergeKey: "name",
  deletes: false,
  place: "volumes",
  mergeElement: (original: JsonObject, change: JsonObject) => ({ ...original, ...change }),
};

it("reads the keys of two lists a number of times that grows with their length", () => {
  const readsOf = (length: number): number => {
    const reads = { count: 0 };
    const patch = Array.from({ length }, (_, at) => ({ name: `p${at}` }));
    expect(mergeLists(counted(length, reads), patch, policy)).toHaveLength(2 * length);
    return reads.count;
  };
  // Sorting takes more than a constant number of reads for each element.
  expect(readsOf(8000) / 8000).toBeLessThan(2 * (readsOf(1000) / 1000));
});

it("merges elements with the same key, and appends the others in their order", () => {
  const original = [{ name: "a", x: 1 }, { name: "b" }, { name: "a", x: 2 }];
  const patch = [{ name: "c" }, { name: "a", y: 1 }];
  expect(mergeLists(original, patch, policy)).toEqual(
    expect.arrayContaining([{ name: "a", x: 1, y: 1 }, { name: "a", x: 2 }, { name: "b" }, { name: "c" }]),
  );
});

it("removes the elements that are deleted, unless the patch replaces the list", () => {
  const original = [{ name: "a" }, { name: "b" }, { name: "c" }];
  const deletes = [
    { name: "a", $patch: "delete" },
    { name: "c", $patch: "delete" },
  ];
  expect(mergeLists(original, [...deletes, { name: "d" }], policy)).toEqual([{ name: "d" }, { name: "b" }]);
  expect(mergeLists(original, [...deletes, { $patch: "replace" }, { name: "d" }], policy)).toEqual([{ name: "d" }]);
});
