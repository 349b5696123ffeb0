import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalKey, structurallyEqual } from "@istiod/incremental";
import { fingerprint } from "../src/values/fingerprint.js";
import { requireKey, sameKey } from "../src/values/key.js";
import { KeyTable } from "../src/values/key-table.js";

class Money {
  constructor(
    readonly cents: number,
    readonly seenAt: number,
  ) {}
  equals(other: Money): boolean {
    return this.cents === other.cents;
  }
}

describe("structural equality", () => {
  it("compares plain data by content", () => {
    const make = () => ({
      text: "x",
      list: [1, [2n, null, undefined, NaN]],
      bytes: new Uint8Array(Array.from({ length: 99 }, (_, i) => i)),
      map: new Map([["a", { deep: new Set([1, 2]) }]]),
      date: new Date(5),
      error: new Error("e", { cause: { why: 1 } }),
      message: { $typeName: "pkg.Message", $unknown: [{ no: 3, wireType: 2, data: new Uint8Array([1]) }], field: 1n },
      money: new Money(5, Math.random()),
    });
    expect(structurallyEqual(make(), make())).toBe(true);
  });

  it("distinguishes values that code can distinguish", () => {
    const pairs: [unknown, unknown][] = [
      [0, -0],
      [1, 1n],
      [null, undefined],
      [{ a: undefined }, {}],
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      [[1], { 0: 1, length: 1 }],
      [new Map([["a", 1]]), new Map([["a", 2]])],
      [
        new Map([
          ["a", 1],
          ["b", 2],
        ]),
        new Map([
          ["b", 2],
          ["a", 1],
        ]),
      ],
      [new Set([1]), new Set([2])],
      [new Uint8Array([1, 2]), new Uint8Array([1, 3])],
      [new Uint8Array(100), new Uint8Array(100).fill(1, 97)],
      [new Uint8Array(4), new Uint16Array(2)],
      [() => 1, () => 1],
      [new Error("a"), new Error("b")],
      [new Money(1, 0), new Money(2, 0)],
      [Object.create({ inherited: 1 }), Object.create({ inherited: 1 })],
    ];
    for (const [a, b] of pairs) expect([a, b, structurallyEqual(a, b)]).toEqual([a, b, false]);
  });

  it("compares bytes at any offset in their buffer", () => {
    const bytes = (offset: number) => new Uint8Array(200).fill(7).subarray(offset, offset + 90);
    for (const a of [0, 1, 4]) for (const b of [0, 3, 8]) expect(structurallyEqual(bytes(a), bytes(b))).toBe(true);
  });

  it("uses the fingerprint of a class's instance, if it has one", () => {
    expect(fingerprint({ equals: () => true })).toBe(0);
    expect(fingerprint({ equals: () => true, fingerprint: () => 7 })).toBe(7);
  });

  it("holds for copies, and equal values have equal fingerprints", () => {
    const values = fc.anything({
      withBigInt: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withDate: true,
    });
    fc.assert(
      fc.property(values, (value) => {
        const copy: unknown = structuredClone(value);
        expect(structurallyEqual(value, copy)).toBe(true);
        expect(fingerprint(value)).toBe(fingerprint(copy));
      }),
    );
  });
});

describe("a key", () => {
  it("is equal if and only if the data is, independent of the order of properties", () => {
    const reorder = (value: unknown): unknown =>
      Array.isArray(value)
        ? value.map(reorder)
        : typeof value === "object" && value !== null
          ? Object.fromEntries(
              Object.entries(value)
                .reverse()
                .map(([name, inner]) => [name, reorder(inner)]),
            )
          : value;
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        expect(sameKey(a, reorder(a))).toBe(true);
        const same = JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
        expect(canonicalKey(a) === canonicalKey(b)).toBe(same);
        expect(sameKey(a, b)).toBe(same);
      }),
    );
  });

  it("treats an undefined property as absent, and must be plain data", () => {
    expect(canonicalKey({ b: 1, a: undefined })).toBe('{"b":1}');
    expect(sameKey({ b: 1, a: undefined }, { c: undefined, b: 1 })).toBe(true);
    expect(sameKey({ b: 1 }, Object.create({ b: 1 }))).toBe(false);
    expect(sameKey({}, new Date())).toBe(false);
    expect(sameKey({}, [])).toBe(false);
    expect(sameKey({ b: 1 }, JSON.parse('{"__proto__":{}}'))).toBe(false);
    for (const value of [() => 1, Symbol("s"), [new Date()], { a: new Map() }])
      expect(() => requireKey(value)).toThrow(/is not a key: expected plain data/);
  });

  it("finds the same entry in a table as its canonical text in a map", () => {
    const names = fc.constantFrom("a", "b", "c", "constructor", "__proto__");
    const { key } = fc.letrec<{ key: unknown }>((tie) => ({
      key: fc.oneof(
        { maxDepth: 3, withCrossShrink: true },
        fc.constantFrom<unknown>("", "a", "1", "{}", "\u0000[1]", 0, -0, 1, NaN, true, null, undefined, 1n),
        fc.array(tie("key"), { maxLength: 3 }),
        fc.array(fc.tuple(names, tie("key")), { maxLength: 3 }).map((entries) => Object.fromEntries(entries)),
      ),
    }));
    const steps = fc.array(fc.tuple(fc.boolean(), key), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(steps, (edits) => {
        const table = new KeyTable<{ readonly arg: unknown }>();
        const model = new Map<string, { readonly arg: unknown }>();
        for (const [add, arg] of edits) {
          const text = canonicalKey(arg);
          const known = model.get(text);
          expect(table.get(arg)).toBe(known);
          if (add && known === undefined) {
            const item = { arg };
            table.add(item);
            model.set(text, item);
          } else if (!add && known !== undefined) {
            table.delete(known);
            model.delete(text);
          }
          expect(table.size).toBe(model.size);
        }
        for (const item of model.values()) expect(table.get(structuredClone(item.arg))).toBe(item);
        for (const item of model.values()) table.delete(item);
        expect(table.size).toBe(0);
      }),
    );
  });

  it("finds each of many similar records", () => {
    const table = new KeyTable<{ readonly arg: unknown }>();
    const args = (): unknown[] =>
      [0, 1, 2].flatMap((kind) =>
        Array.from({ length: 300 }, (_, i) =>
          kind === 0
            ? { scope: { name: "x" }, host: `h${i % 30}`, port: i }
            : kind === 1
              ? { list: ["a", "b", String(i)] }
              : { deep: { er: { and: { er: i } } } },
        ),
      );
    const items = args().map((arg) => ({ arg }));
    for (const item of items) table.add(item);
    expect(args().map((arg) => table.get(arg))).toEqual(items);
    for (const item of items.slice(100)) table.delete(item);
    expect(args().map((arg) => table.get(arg))).toEqual([...items.slice(0, 100), ...Array.from({ length: 800 })]);
  });
});

function sorted(value: unknown): unknown {
  if (Object.is(value, -0)) return 0;
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)]),
  );
}
