import fc from "fast-check";
import { expect, test } from "vitest";
import { entryNameOf } from "../src/workload-registration/workload.js";

interface Named {
  readonly group: string;
  readonly address: string;
  readonly network?: string;
}

const nameOf = (named: Named): string =>
  entryNameOf({ ...named, id: "", namespace: "shop", labels: {}, acceptsTunnels: false, isProbed: false }) ?? "";
const digest = /-[0-9a-f]{20}$/;

test.each([
  [{ group: "vms", address: "10.0.0.1" }, "vms-10.0.0.1"],
  [{ group: "vm-db.east", address: "10.0.0.1", network: "net-1" }, "vm-db.east-10.0.0.1-net-1"],
  [{ group: "vm-db", address: "fd00::1" }, "vm-db-fd00--1"],
  [{ group: "vms", address: "2001:db8:2600:1::5", network: "vm-network" }, "vms-2001-db8-2600-1--5-vm-network"],
  [{ group: "vms", address: "::ffff:10.0.0.1" }, "vms---ffff-10.0.0.1"],
])("the WorkloadEntry of %j has Istio's name %s", (named, expected) => {
  expect(nameOf(named)).toBe(expected);
});

test.each<[Named, Named]>([
  [
    { group: "g", address: "fd00::1", network: "2" },
    { group: "g", address: "fd00::1:2" },
  ],
  [
    { group: "g", address: "10.0.0.1", network: "x-10.0.0.2" },
    { group: "g-10.0.0.1-x", address: "10.0.0.2" },
  ],
  [
    { group: `a${"x".repeat(252)}`, address: "10.0.0.1" },
    { group: `b${"x".repeat(252)}`, address: "10.0.0.1" },
  ],
  [
    { group: "g", address: "2001:db8::1", network: "fd00--1" },
    { group: "g-2001-db8--1", address: "fd00::1" },
  ],
])("%j and %j have WorkloadEntries of their own", (a, b) => {
  expect(nameOf(a)).not.toBe(nameOf(b));
});

test("each workload has a name of its own, which is a valid one", () => {
  const word = fc.constantFrom(
    "a",
    "db",
    "1",
    "fd00",
    "10.0.0.1",
    "fd00--1",
    "x-2",
    "0123456789abcdef0123",
    "l".repeat(130),
  );
  const text = fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join("-"));
  const address = fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom("10.0.0.1", "fd00::1", "fd00::1:2", "::1"));
  const named = fc.oneof(fc.record({ group: text, address }), fc.record({ group: text, address, network: text }));
  fc.assert(
    fc.property(fc.array(named, { minLength: 2, maxLength: 40 }), (all) => {
      const distinct = new Map(
        all.map((each) => [JSON.stringify([each.group, each.address, (each as Named).network]), each]),
      );
      const names = [...distinct.values()].map(nameOf);
      expect(new Set(names).size).toBe(distinct.size);
      for (const name of names) expect(name).toMatch(/^(?=.{1,253}$)[a-z0-9][a-z0-9.-]*/i);
    }),
    { numRuns: 1000 },
  );
});

test("a name that is too long, or looks like one with a digest, ends in a digest", () => {
  expect(nameOf({ group: "l".repeat(250), address: "10.0.0.1" })).toMatch(digest);
  expect(nameOf({ group: "g", address: "10.0.0.1", network: "0123456789abcdef0123" })).toMatch(
    /^g-10\.0\.0\.1-0123456789abcdef0123-[0-9a-f]{20}$/,
  );
});
