import fc from "fast-check";
import { expect, test } from "vitest";
import { BackOff } from "../src/client/back-off.js";
import type { Content, Entry } from "../src/client/content.js";
import { difference, Holding } from "../src/client/holding.js";

const name: fc.Arbitrary<string> = fc.constantFrom("a", "b", "c", "d");
const entry = fc.record({
  name,
  version: fc.constantFrom("1", "2"),
  digest: fc.constant(""),
  refersTo: fc.uniqueArray(fc.constantFrom("x", "y")),
});
const content: fc.Arbitrary<Content> = fc.record({
  entries: fc.uniqueArray(entry, { selector: ({ name }) => name }),
  removed: fc.uniqueArray(name),
});

test("law: after responses, what is held and referred to is what a map would hold; and the same for all that were sent the same", () => {
  const step = fc.record({
    content,
    isFull: fc.boolean(),
    wanted: fc.option(
      fc.uniqueArray(name).map((names) => new Set(names)),
      { nil: undefined },
    ),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 8 }), (steps) => {
      let [holding, twin] = [Holding.nothing, Holding.nothing];
      let model = new Map<string, Entry>();
      for (const { content, isFull, wanted } of steps) {
        const before = holding.references;
        holding = holding.after(content, { isFull, wanted });
        twin = twin.after(content, { isFull, wanted });
        if (isFull) model = new Map();
        for (const each of content.entries) if (wanted?.has(each.name) !== false) model.set(each.name, each);
        for (const gone of content.removed) model.delete(gone);
        const references = new Set([...model.values()].flatMap(({ refersTo }) => refersTo));
        expect(new Map(holding.entries)).toEqual(model);
        expect(holding.references).toEqual(references);
        expect(holding.references === before).toBe(
          before.size === references.size && [...before].every((each) => references.has(each)),
        );
        expect(twin).toBe(holding);
        if (wanted === undefined) continue;
        expect([...holding.only(wanted).entries.keys()]).toEqual([...model.keys()].filter((each) => wanted.has(each)));
        expect(holding.only(wanted)).toBe(holding.only(wanted));
      }
    }),
  );
});

test("differences of names", () => {
  const [before, after] = [new Set(["a", "b"]), new Set(["b", "c"])];
  expect(difference(before, after)).toEqual({ added: ["c"], removed: ["a"] });
  expect(difference(before, after)).toBe(difference(before, after));
});

test("waits are within a window that doubles from 500 ms to 30 s, until a server answers", () => {
  const backOff = new BackOff(() => 0.999);
  const waits = Array.from({ length: 9 }, () => Math.ceil(backOff.next()));
  expect(waits).toEqual([500, 999, 1998, 3996, 7992, 15984, 29970, 29970, 29970]);
  backOff.reset();
  expect(Math.ceil(backOff.next())).toBe(500);
  expect(new BackOff(() => 0).next()).toBe(0);
});
