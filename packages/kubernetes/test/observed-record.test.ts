import { describe, expect, it } from "vitest";
import type { ElectionRecord } from "../src/leases/election-record.js";
import { ObservedRecord } from "../src/leases/observed-record.js";

const leaseMs = 30_000;
const own: ElectionRecord = {
  holderIdentity: "a",
  holderKey: "",
  leaseDurationSeconds: 30,
  acquireTime: 1000,
  renewTime: 2000,
  leaderTransitions: 3,
};
const at = (renewTime: number): ElectionRecord => ({ ...own, renewTime });
let versions = 0;
const stored = (record: ElectionRecord) => ({ record, version: String(++versions), object: {} });

describe("a record that is found after attempts without an answer", () => {
  it("is the process's own if it equals any of the attempts", () => {
    const observed = new ObservedRecord(leaseMs);
    for (const time of [1, 2, 3]) observed.attempt(at(time));
    observed.see(stored(at(2)), 0);
    expect(observed.isOwn).toBe(true);
    expect(observed.isFree(0)).toBe(true);
    // It has taken the place of the version that the others would have replaced.
    observed.see(stored(at(3)), 1);
    expect(observed.isOwn).toBe(false);
  });

  it.each([
    ["holder", { holderIdentity: "b" }],
    ["time of acquisition", { acquireTime: 1001 }],
    ["time of renewal", { renewTime: 2001 }],
    ["number of transitions", { leaderTransitions: 4 }],
  ])("is that of another process if its %s differs", (_, difference) => {
    const observed = new ObservedRecord(leaseMs);
    observed.attempt(own);
    observed.see(stored({ ...own, ...difference }), 0);
    expect(observed.isOwn).toBe(false);
    expect(observed.isFree(leaseMs - 1)).toBe(false);
    expect(observed.isFree(leaseMs)).toBe(true);
  });

  it("is its own without the key, which a lock need not store", () => {
    const observed = new ObservedRecord(leaseMs);
    observed.attempt({ ...own, holderKey: "revision" });
    observed.see(stored(own), 0);
    expect(observed.isOwn).toBe(true);
  });

  it("is that of another process if this one has written nothing", () => {
    const observed = new ObservedRecord(leaseMs);
    observed.see(stored(own), 0);
    expect(observed.isOwn).toBe(false);
  });

  it("is recognized among the last sixteen attempts only", () => {
    const attempts = Array.from({ length: 17 }, (_, time) => at(time));
    const seen = (record: ElectionRecord): boolean => {
      const observed = new ObservedRecord(leaseMs);
      for (const attempt of attempts) observed.attempt(attempt);
      observed.see(stored(record), 0);
      return observed.isOwn;
    };
    expect([seen(at(0)), seen(at(1)), seen(at(16))]).toEqual([false, true, true]);
  });
});

it("attempts on an earlier version are forgotten once another record is seen, since they would conflict", () => {
  const observed = new ObservedRecord(leaseMs);
  observed.attempt(at(1));
  observed.see(stored({ ...own, holderIdentity: "b" }), 0);
  observed.see(stored(at(1)), 1);
  expect(observed.isOwn).toBe(false);
});

it("a written record remains the process's own under a new version, as after a label was added to the lock", () => {
  const observed = new ObservedRecord(leaseMs);
  observed.attempt(at(1));
  observed.written(stored(at(2)), 0);
  observed.see(stored(at(2)), 1);
  expect(observed.isOwn).toBe(true);
  observed.see(stored(at(2)), 2);
  expect(observed.isOwn).toBe(true);
  observed.see(stored(at(1)), 3);
  expect(observed.isOwn).toBe(false);
});

it("a record that has disappeared is nobody's own, and its holder's time still counts", () => {
  const observed = new ObservedRecord(leaseMs);
  observed.see(stored({ ...own, holderIdentity: "b", leaseDurationSeconds: 60 }), 0);
  observed.see(undefined, 1);
  expect(observed.isOwn).toBe(false);
  expect([observed.isFree(59_999), observed.isFree(60_000)]).toEqual([false, true]);
});
