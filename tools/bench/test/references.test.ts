import fc from "fast-check";
import { expect, test } from "vitest";
import { BackOff } from "../src/client/back-off.js";
import { References } from "../src/client/references.js";

test("law: names and differences are those of all resources counted afresh", () => {
  const names = fc.uniqueArray(fc.constantFrom("x", "y", "z"));
  const edit = fc.record({ resource: fc.constantFrom("a", "b", "c"), names, take: fc.boolean(), replace: fc.boolean() });
  fc.assert(
    fc.property(fc.array(edit), (edits) => {
      const references = new References();
      const model = new Map<string, readonly string[]>();
      const all = (): Set<string> => new Set([...model.values()].flat());
      let taken = new Set<string>();
      for (const { resource, names, take, replace } of edits) {
        if (replace) {
          model.clear();
          if (names.length > 0) model.set(resource, names);
          references.replace(new Map(model));
        } else {
          model.set(resource, names);
          references.set(resource, names);
        }
        const now = all();
        expect(new Set(references.names())).toEqual(now);
        expect(references.size).toBe(now.size);
        if (!take) continue;
        const { added, removed } = references.take();
        expect(new Set(added)).toEqual(new Set([...now].filter((name) => !taken.has(name))));
        expect(new Set(removed)).toEqual(new Set([...taken].filter((name) => !now.has(name))));
        taken = now;
      }
    }),
  );
});

test("waits are within a window that doubles from 500 ms to 30 s, until a server answers", () => {
  const backOff = new BackOff(() => 0.999);
  const waits = Array.from({ length: 9 }, () => Math.ceil(backOff.next()));
  expect(waits).toEqual([500, 999, 1998, 3996, 7992, 15984, 29970, 29970, 29970]);
  backOff.reset();
  expect(Math.ceil(backOff.next())).toBe(500);
  expect(new BackOff(() => 0).next()).toBe(0);
});
