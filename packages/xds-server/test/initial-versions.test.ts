import { resource, ResourceSet } from "@istiod/resources";
import fc from "fast-check";
import { expect, test } from "vitest";
import { relativeTo } from "../src/protocol/initial-versions.js";
import { encodeRequest } from "../src/testing/request.js";
import { versionList } from "../src/wire/names.js";
import { complete } from "../src/sliced.js";
import { decodeRequest } from "../src/wire/request.js";

const contents = fc.dictionary(
  fc.integer({ min: 0, max: 12 }).map((i) => `n${i}`),
  fc.integer({ min: 0, max: 2 }),
  { noNullPrototype: true },
);
const resourceOf = (name: string, content: number) => resource(name, Uint8Array.of(content));
const setOf = (of: Record<string, number>) =>
  ResourceSet.of(Object.entries(of).map(([name, content]) => resourceOf(name, content)));
const versionsOf = (of: Record<string, number>) =>
  Object.fromEntries(Object.entries(of).map(([name, content]) => [name, resourceOf(name, content).version]));

const asSent = (versions: Record<string, string>) =>
  complete(
    decodeRequest(
      "delta",
      Buffer.from(encodeRequest("delta", { typeUrl: "t", initialVersions: Object.entries(versions) })),
    ),
  ).initialVersions;

test("law: initial versions are stored as the difference from a set, and can be compared with another set later", () => {
  fc.assert(
    fc.property(
      contents,
      contents,
      contents,
      fc.boolean(),
      fc.constantFrom(versionList, asSent),
      (had, first, second, isFirst, listOf) => {
        const versions = versionsOf(isFirst ? first : had);
        let initial = complete(relativeTo(listOf(versions), setOf(first)));
        for (const now of [first, second, first]) {
          const set = setOf(now);
          initial = complete(relativeTo(initial, set));
          expect(complete(relativeTo(initial, set))).toBe(initial);
          expect(Object.fromEntries(initial)).toEqual(versions);
          expect(initial.size).toBe(Object.keys(versions).length);
          for (const { name, version } of set) expect(initial.has(name)).toBe(versions[name] === version);
          expect(initial.hasAll).toBe(set.toArray().every(({ name, version }) => versions[name] === version));
          expect(Object.fromEntries(initial.outsideSet)).toEqual(
            Object.fromEntries(Object.entries(versions).filter(([name]) => !set.has(name))),
          );
        }
      },
    ),
    { numRuns: 1000 },
  );
});

test("a list of thousands with one difference is compared without decoding its strings", () => {
  const all = Object.fromEntries(
    Array.from({ length: 3000 }, (_, i) => [`outbound|80||service-${i}.shop.svc.cluster.local`, i]),
  );
  const { "outbound|80||service-7.shop.svc.cluster.local": _, ...set } = all;
  const list = asSent(versionsOf(all));
  list[Symbol.iterator] = () => expect.fail("went through the strings");
  const initial = complete(relativeTo(list, setOf(set)));
  expect([...initial.outsideSet.keys()]).toEqual(["outbound|80||service-7.shop.svc.cluster.local"]);
  expect(initial.hasAll).toBe(true);
  expect(
    complete(relativeTo(asSent(versionsOf(set)), setOf(all))).has("outbound|80||service-7.shop.svc.cluster.local"),
  ).toBe(false);
});
