import { piecesOf, resource, resourceOfParts, type ResourcePart, resourcePart, sizeOf } from "@istiod/resources";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const partOf = (text: string, size: number): ResourcePart => {
  const bytes = Buffer.from(text.padEnd(size, "."));
  return resourcePart([bytes.subarray(0, 3), bytes.subarray(3)]);
};

describe("pieces of a resource", () => {
  it("are its bytes", () => {
    const sizes = fc.array(fc.nat(100_000), { maxLength: 30 });
    fc.assert(
      fc.property(sizes, (all) => {
        const joined = resourceOfParts(
          "r",
          all.map((size, i) => partOf(String(i), size)),
        );
        const bytes = Buffer.concat(piecesOf(joined));
        expect(bytes.equals(joined.bytes)).toBe(true);
        expect(sizeOf(joined)).toBe(bytes.length);
      }),
    );
  });

  it("are one piece if it was not joined", () => {
    const bytes = Buffer.from("cart");
    expect(piecesOf(resource("r", bytes))).toEqual([bytes]);
    expect(sizeOf(resource("r", bytes))).toBe(4);
  });

  it("are shared with a resource that differs in one part, except for one", () => {
    const parts = Array.from({ length: 200 }, (_, i) => partOf(`part ${i}`, 2_000));
    for (const at of [0, 100, 199]) {
      const before = piecesOf(resourceOfParts("r", parts));
      const changed = parts.with(at, partOf("changed", 2_500));
      const after = piecesOf(resourceOfParts("r", changed));
      // A part that ends a piece may be replaced by one that does not, or the other way round.
      const added = after.filter((piece) => !before.includes(piece));
      expect(added.length).toBeLessThanOrEqual(2);
      expect(added.length).toBeGreaterThan(0);
      expect(before.length).toBeGreaterThan(8);
    }
  });

  it("are large enough to be worth their writing", () => {
    const parts = Array.from({ length: 2_000 }, (_, i) => partOf(`part ${i}`, 300));
    expect(piecesOf(resourceOfParts("r", parts)).length).toBeLessThan(2_000 / 3);
  });
});
