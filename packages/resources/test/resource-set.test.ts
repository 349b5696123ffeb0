import {
  difference,
  type Failure,
  differenceInSteps,
  resource,
  resourceOfParts,
  type ResourcePart,
  resourcePart,
  ResourceSet,
  type Resource,
} from "@istiod/resources";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const make = (spec: Record<string, string>): ResourceSet =>
  ResourceSet.of(Object.entries(spec).map(([name, text]) => resource(name, bytes(text))));
/** Compares by the method that the engine calls. */
const areEqual = (a: Resource, b: Resource): boolean =>
  (a as Resource & { equals(other: Resource): boolean }).equals(b);
const names = (resources: Iterable<Resource>): string[] => Array.from(resources, ({ name }) => name);

describe("resource", () => {
  it("has a version that depends only on its bytes", () => {
    expect(resource("a", bytes("x")).version).toBe(resource("b", bytes("x")).version);
    expect(resource("a", bytes("x")).version).not.toBe(resource("a", bytes("y")).version);
    expect(resource("a", bytes("")).version).toMatch(/^[\w-]{22}$/);
  });

  it("of parts has a version that depends on the parts, and their joined bytes", () => {
    const [a, b, ab] = ["a", "b", "ab"].map((text) => resourcePart(bytes(text))) as [
      ResourcePart,
      ResourcePart,
      ResourcePart,
    ];
    const whole = resourceOfParts("x", [a, b]);
    expect(whole.bytes).toEqual(bytes("ab"));
    expect(whole.version).toMatch(/^[\w-]{22}$/);
    expect(resourceOfParts("y", [resourcePart(bytes("a")), b]).version).toBe(whole.version);
    expect(
      new Set(
        [whole, resourceOfParts("x", [b, a]), resourceOfParts("x", [ab]), resourceOfParts("x", [a])].map(
          ({ version }) => version,
        ),
      ).size,
    ).toBe(4);
  });

  it("of parts is joined when its bytes are first read, once, and copies have them too", () => {
    let reads = 0;
    const counted = (text: string): ResourcePart => {
      const part = resourcePart(bytes(text));
      return {
        ...part,
        get pieces() {
          reads++;
          return part.pieces;
        },
      };
    };
    const whole = resourceOfParts("x", [counted("a"), counted("b")]);
    expect(areEqual(whole, resourceOfParts("x", [counted("a"), counted("b")]))).toBe(true);
    expect(areEqual(whole, resourceOfParts("x", [counted("a"), counted("c")]))).toBe(false);
    expect(reads).toBe(0);
    expect({ ...whole }.bytes).toEqual(bytes("ab"));
    expect(whole.bytes).toBe(whole.bytes);
    expect(reads).toBe(2);
  });

  it("of a part in pieces is that of the joined part", () => {
    const joined = resourceOfParts("x", [resourcePart(bytes("abc"))]);
    for (const pieces of [
      ["a", "bc"],
      ["abc", ""],
      ["", "a", "b", "c"],
    ]) {
      const whole = resourceOfParts("x", [resourcePart(pieces.map(bytes))]);
      expect(whole).toEqual(joined);
    }
    expect(resourceOfParts("x", [resourcePart([])])).toEqual(resourceOfParts("x", [resourcePart(bytes(""))]));
  });

  it("of parts is equal only with equal failures", () => {
    const failure = { name: "", objects: [], message: "no" };
    const part = (failures: Failure[]): ResourcePart => resourcePart(bytes("a"), failures);
    const whole = (failures: Failure[]): Resource => resourceOfParts("x", [part(failures)]);
    expect(areEqual(whole([failure]), whole([failure]))).toBe(true);
    expect(areEqual(whole([failure]), whole([{ ...failure, message: "other" }]))).toBe(false);
    expect(areEqual(whole([failure]), whole([]))).toBe(false);
  });
});

describe("ResourceSet", () => {
  it("indexes a union in steps, and then looks up the same resources", () => {
    const parts = Array.from({ length: 1000 }, (_, i) => make({ [`r${i}`]: `${i}` }));
    const union = ResourceSet.union(parts);
    expect([...union.index(100)]).toHaveLength(10);
    expect([...union.index(100)]).toEqual([]);
    expect(union.get("r999")).toBe(parts[999]?.get("r999"));
    expect(union.has("r1000")).toBe(false);
  });

  it("keeps the order and looks up by name", () => {
    const set = make({ b: "1", a: "2" });
    expect(names(set)).toEqual(["b", "a"]);
    expect(set.size).toBe(2);
    expect(set.get("a")?.bytes).toEqual(bytes("2"));
    expect(set.has("c")).toBe(false);
  });

  it("keeps the first resource of a duplicate name, in a set and in a union", () => {
    const first = resource("a", bytes("1"));
    expect([...ResourceSet.of([first, resource("a", bytes("2"))])]).toEqual([first]);
    const union = ResourceSet.union([ResourceSet.of([first]), make({ a: "2", b: "3" })]);
    expect(union.get("a")).toBe(first);
    expect(names(union)).toEqual(["a", "b"]);
    expect(union.size).toBe(2);
  });

  it("returns the set itself for a union of one, and the empty set for a union of none", () => {
    const set = make({ a: "1" });
    expect(ResourceSet.union([set])).toBe(set);
    expect(ResourceSet.union([ResourceSet.empty, set, set])).toBe(set);
    expect(ResourceSet.union([])).toBe(ResourceSet.empty);
    expect(ResourceSet.of([])).toBe(ResourceSet.empty);
  });

  it("keeps unions as parts of a union", () => {
    const [a, b, c] = [make({ a: "1" }), make({ b: "1" }), make({ c: "1" })];
    const inner = ResourceSet.union([a, b]);
    const outer = ResourceSet.union([inner, c]);
    expect(outer.parts).toEqual([inner, c]);
    expect(names(outer)).toEqual(["a", "b", "c"]);
    expect(outer.get("b")).toBe(b.get("b"));
  });

  it("looks up by name in a union of many parts", () => {
    const union = ResourceSet.union(Array.from({ length: 20 }, (_, i) => make({ [`r${i}`]: String(i) })));
    expect(union.get("r17")?.bytes).toEqual(bytes("17"));
    expect(union.get("r20")).toBeUndefined();
  });

  it("law: a union created after a similar one equals the union created alone", () => {
    const name = fc.integer({ min: 0, max: 40 }).map(String);
    const spec = fc.dictionary(name, fc.constantFrom("1", "2"), { maxKeys: 3 });
    const edit = fc.record({ at: fc.nat(30), remove: fc.nat(2), insert: fc.array(spec, { maxLength: 2 }) });
    fc.assert(
      fc.property(fc.integer({ min: 9, max: 14 }), fc.array(edit, { maxLength: 8 }), (count, edits) => {
        let parts = Array.from({ length: count }, (_, i) => make({ [`own${i}`]: "1" }));
        for (const { at, remove, insert } of edits) {
          ResourceSet.union(parts);
          parts = parts.toSpliced(at % (parts.length + 1), remove, ...insert.map(make));
          const first = new Map<string, Resource>();
          for (const found of parts.flatMap((part) => part.toArray()))
            if (!first.has(found.name)) first.set(found.name, found);
          expect(ResourceSet.union(parts).toArray()).toEqual([...first.values()]);
        }
      }),
    );
  });

  it("looks only into the replaced part of a union, also if lists of other clients begin and end with the same parts", () => {
    const part = (name: string): ResourceSet => make({ [name]: "1" });
    const [first, last] = [part("first"), part("last")];
    const lists = ["a", "b", "c"].map((owner) => [
      first,
      ...Array.from({ length: 20 }, (_, i) => part(`${owner}${i}`)),
      last,
    ]);
    for (const list of lists) ResourceSet.union(list);
    const seen = new Set<ResourceSet>();
    for (const shared of new Set(lists.flatMap((list) => list.toSpliced(10, 1)))) {
      const resources = shared.toArray();
      shared.toArray = () => {
        seen.add(shared);
        return resources;
      };
    }
    for (const list of lists) ResourceSet.union(list.with(10, make({ [names(list[10]!)[0]!]: "2" })));
    expect(seen.size).toBe(0);
  });

  it("compares names, versions and order for equality", () => {
    expect(make({ a: "1", b: "2" }).equals(ResourceSet.union([make({ a: "1" }), make({ b: "2" })]))).toBe(true);
    expect(make({ a: "1", b: "2" }).equals(make({ b: "2", a: "1" }))).toBe(false);
    expect(make({ a: "1" }).equals(make({ a: "2" }))).toBe(false);
  });
});

describe("a set's fingerprint", () => {
  it("is the same for equal sets, regardless of their parts", () => {
    const [a, b] = [make({ a: "1" }), make({ b: "2" })];
    expect(ResourceSet.union([a, b]).fingerprint()).toBe(make({ a: "1", b: "2" }).fingerprint());
    expect(make({ a: "1" }).fingerprint()).not.toBe(make({ a: "2" }).fingerprint());
  });
});

describe("difference", () => {
  it("lists changed, added and removed resources", () => {
    const result = difference(make({ a: "1", b: "1", c: "1" }), make({ d: "1", c: "1", a: "2" }));
    expect(names(result.changed)).toEqual(["d", "a"]);
    expect(result.removed).toEqual(["b"]);
  });

  it("is the same object for the same pair of sets", () => {
    const [before, after] = [make({ a: "1" }), make({ a: "2" })];
    expect(difference(before, after)).toBe(difference(before, after));
  });

  it("skips parts that both sets share", () => {
    const part = make({ a: "1" });
    const before = ResourceSet.union([part, make({ b: "1" })]);
    const after = ResourceSet.union([part, make({ b: "2" })]);
    part.toArray = () => {
      throw new Error("looked into the shared part");
    };
    expect(names(difference(before, after).changed)).toEqual(["b"]);
  });

  it("ignores a resource that moved from one part to another", () => {
    const before = ResourceSet.union([make({ a: "1" }), make({ b: "1" })]);
    const after = ResourceSet.union([make({ c: "1" }), make({ b: "1", a: "1" })]);
    expect(names(difference(before, after).changed)).toEqual(["c"]);
    expect(difference(before, after).removed).toEqual([]);
  });

  it("of a part is the same object for all sets that contain it", () => {
    const [before, after] = [make({ a: "1", b: "1" }), make({ a: "2", b: "1" })];
    const own = ["x", "y"].map((name) => make({ [name]: "1" }));
    const [one, two] = own.map((part) =>
      difference(ResourceSet.union([before, part]), ResourceSet.union([after, part])),
    );
    expect(names(one?.changed ?? [])).toEqual(["a"]);
    expect(one).toBe(two);
  });

  it.each([
    ["one set", (resources: Resource[]) => ResourceSet.of(resources)],
    ["a union", (resources: Resource[]) => ResourceSet.union(resources.map((each) => ResourceSet.of([each])))],
  ])("of %s in steps reads a bounded number of resources at a time, and is the same object", (_, setOf) => {
    let read = 0;
    const counted = (content: string): Resource[] =>
      Array.from({ length: 1000 }, (_, i) => {
        const { name, version, bytes: encoded } = resource(`r${i}`, bytes(content));
        return {
          name,
          bytes: encoded,
          get version() {
            read++;
            return version;
          },
        };
      });
    const [before, after] = [setOf(counted("1")), setOf(counted("2"))];
    const steps = differenceInSteps(before, after, 100);
    let largest = 0;
    let result = steps.next();
    for (; result.done !== true; result = steps.next()) {
      largest = Math.max(largest, read);
      read = 0;
    }
    expect(largest).toBeGreaterThan(0);
    expect(largest).toBeLessThanOrEqual(2 * 100);
    expect(result.value.changed).toHaveLength(1000);
    expect(difference(before, after)).toBe(result.value);
  });

  it("law: turns the earlier set into the later one, and is minimal", () => {
    const spec = fc.dictionary(fc.constantFrom(..."abcdefgh"), fc.constantFrom("1", "2", "3"));
    const union = fc.array(spec.map(make), { maxLength: 4 }).map((sets) => ResourceSet.union(sets));
    const parts = fc.array(fc.oneof(spec.map(make), union), { maxLength: 8 });
    fc.assert(
      fc.property(parts, parts, parts, (common, some, others) => {
        const before = ResourceSet.union([...some, ...common]);
        const after = ResourceSet.union([...common, ...others]);
        const state = new Map(Array.from(before, (r) => [r.name, r.version]));
        const { changed, removed } = difference(before, after);
        for (const r of changed) {
          expect(state.get(r.name)).not.toBe(r.version);
          state.set(r.name, r.version);
        }
        for (const name of removed) expect(state.delete(name)).toBe(true);
        expect(state).toEqual(new Map(Array.from(after, (r) => [r.name, r.version])));
        expect(names(after)).toHaveLength(after.size);
        expect(new Set(names(changed)).size).toBe(changed.length);
        for (const r of after) expect(after.get(r.name)).toBe(r);
        expect(before.equals(after)).toBe(JSON.stringify([...before]) === JSON.stringify([...after]));
      }),
      { numRuns: 1000 },
    );
  });
});
