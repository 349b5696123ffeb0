import { resource, ResourceSet } from "@istiod/resources";
import fc from "fast-check";
import { expect, test } from "vitest";
import { NameSet } from "../src/protocol/name-set.js";
import { complete } from "../src/sliced.js";
import { nameList } from "../src/wire/names.js";

const name = fc.integer({ min: 0, max: 120 }).map((i) => `n${i}`);
const setOf = (names: Iterable<string>) =>
  ResourceSet.of(Array.from(names, (each) => resource(each, new Uint8Array())));

test("law: sharing does not change the set of names", () => {
  const step = fc.oneof(
    fc.record({ verb: fc.constantFrom("add", "delete"), names: fc.array(name, { maxLength: 100 }) }),
    fc.record({ verb: fc.constant("compact"), names: fc.uniqueArray(name) }),
    fc.constant({ verb: "compact to itself", names: [] as string[] }),
  );
  fc.assert(
    fc.property(fc.uniqueArray(name), fc.boolean(), fc.array(step, { maxLength: 12 }), (initial, shared, steps) => {
      const names = complete(NameSet.of(nameList(initial), shared ? setOf(initial) : undefined));
      const model = new Set(initial);
      for (const { verb, names: arguments_ } of steps) {
        if (verb === "compact") complete(names.compact(setOf(arguments_)));
        else if (verb === "compact to itself") complete(names.compact(setOf(model)));
        for (const each of arguments_) {
          if (verb === "add") {
            names.add(each);
            model.add(each);
          } else if (verb === "delete") expect(names.delete(each)).toBe(model.delete(each));
        }
        expect([...names].sort()).toEqual([...model].sort());
        expect(names.size).toBe(model.size);
        expect(names.equals(setOf(model))).toBe(true);
        expect(names.equals(setOf([...model, "another"]))).toBe(false);
        for (const each of ["n1", "n60", "n119"]) expect(names.has(each)).toBe(model.has(each));
      }
    }),
  );
});

test("law: a list that nearly equals a set has exactly the listed names, and reports those outside the set", () => {
  const large = Array.from({ length: 200 }, (_, i) => `n${i}`);
  const few = fc.uniqueArray(
    fc.integer({ min: 0, max: 250 }).map((i) => `n${i}`),
    { maxLength: 90 },
  );
  fc.assert(
    fc.property(few, few, few, (without, more, other) => {
      const listed = [...new Set([...large.filter((each) => !without.includes(each)), ...more])];
      const set = setOf(large);
      const names = complete(NameSet.of(nameList(listed), set));
      expect([...names].sort()).toEqual([...listed].sort());
      expect(names.size).toBe(listed.length);
      for (const each of [...large, ...more, ...other]) expect(names.has(each)).toBe(listed.includes(each));
      expect(names.equals(set)).toBe(listed.length === large.length && listed.every((each) => large.includes(each)));
      for (const among of [set, setOf(other)])
        expect([...names.outside(among)].sort()).toEqual(listed.filter((each) => !among.has(each)).sort());
    }),
  );
});

test("names of a resource set are not stored again, whichever of them a client subscribes to", () => {
  const large = Array.from({ length: 10_000 }, (_, i) => `outbound|80||service-${i}`);
  const set = setOf(large);
  const names = complete(NameSet.of(nameList(large.slice(1000)), set));
  expect(names.size).toBe(9000);
  expect(names.unshared).toBe(0);
  for (const each of large.slice(0, 500)) names.add(each);
  expect(names.unshared).toBe(0);
  names.add("unknown");
  expect(names.unshared).toBe(1);
});

test("names that a later resource set has are shared with it", () => {
  const large = Array.from({ length: 1000 }, (_, i) => `n${i}`);
  const names = complete(NameSet.of(nameList(large), setOf(large.slice(0, 500))));
  expect(names.unshared).toBe(500);
  complete(names.adaptTo(setOf(large.slice(0, 999))));
  expect([names.size, names.unshared]).toEqual([1000, 1]);
  complete(names.adaptTo(setOf(["other"])));
  expect([names.size, names.unshared]).toEqual([1000, 1000]);
  expect([...names].sort()).toEqual([...large].sort());
});
