import { expect, test } from "vitest";
import { SharedAllowance, shareKey } from "../src/limits/shared-allowance.js";

const kilobytes = (count: number): number => count * 1024;

/** Streams of an allowance, with the names of those that were ended. */
function streams(totalBytes: number) {
  const allowance = new SharedAllowance(totalBytes);
  const ended: string[] = [];
  const sharers = new Map<string, { exceeded(): void }>();
  const use = (name: string, key: string, bytes: number) => {
    let sharer = sharers.get(name);
    if (sharer === undefined) sharers.set(name, (sharer = { exceeded: () => ended.push(name) }));
    allowance.use(sharer, key, bytes);
  };
  return { allowance, ended, use };
}

test("the latest streams of the address that uses most are ended", () => {
  const { allowance, ended, use } = streams(kilobytes(1000));
  use("honest", "10.0.0.1", kilobytes(400));
  for (const each of ["a", "b", "c", "d"]) use(each, "10.0.0.2", kilobytes(264));
  expect(ended).toEqual(["d"]);
  expect(allowance.usedBytes).toBe(kilobytes(336 + 600));
  use("honest", "10.0.0.1", kilobytes(500));
  expect(ended).toEqual(["d", "c"]);
});

test("many small streams of one address do not end a larger stream of another", () => {
  const { ended, use } = streams(kilobytes(1000));
  use("honest", "10.0.0.1", kilobytes(364));
  for (let i = 0; i < 80; i++) use(`s${i}`, "10.0.0.2", kilobytes(74));
  expect(ended).not.toContain("honest");
  expect(ended.length).toBe(10);
});

test("the first 64 KiB of a stream are free, and what a stream releases is available again", () => {
  const { allowance, ended, use } = streams(kilobytes(100));
  for (let i = 0; i < 100; i++) use(`s${i}`, "10.0.0.1", kilobytes(64));
  expect(allowance.usedBytes).toBe(0);
  for (let i = 0; i < 20; i++) {
    use("large", "10.0.0.1", kilobytes(164));
    use("large", "10.0.0.1", 0);
  }
  expect(allowance.usedBytes).toBe(0);
  expect(ended).toEqual([]);
});

test.each([
  [undefined, "10.0.0.1", "10.0.0.1"],
  [undefined, "::ffff:10.0.0.1", "10.0.0.1"],
  [undefined, "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  [undefined, "2001:db8::5", "2001:db8:0:0::/64"],
  [undefined, "::1", "0:0:0:0::/64"],
  ["spiffe://td/ns/a/sa/b", "10.0.0.1", "spiffe://td/ns/a/sa/b"],
])("the share of identity %s at %s is that of %s", (identity, address, key) => {
  expect(shareKey(identity, { address, port: 1, headers: {} })).toBe(key);
});
