import { expect, test } from "vitest";
import type { LeaderRecord } from "../src/cluster/cluster-user.js";
import { livingLeader } from "../src/events/kills.js";

const records = (...holders: readonly [holder: string, renewTime: string][]) => {
  const left = holders.map(([holderIdentity, renewTime]): LeaderRecord => ({ holderIdentity, renewTime }));
  return async (): Promise<LeaderRecord | undefined> => (left.length > 1 ? left.shift() : left[0]);
};

test("the holder of a lock that another istiod takes over is not the leader", async () => {
  const read = records(["istiod-0", "10:00:00"], ["istiod-0", "10:00:00"], ["istiod-1", "10:00:20"]);
  expect(await livingLeader(read, 60_000)).toBe("istiod-1");
});

test("the holder that renews its lock is the leader", async () => {
  expect(await livingLeader(records(["istiod-0", "10:00:00"], ["istiod-0", "10:00:04"]), 60_000)).toBe("istiod-0");
});

test("a lock that nobody renews has no leader", async () => {
  await expect(livingLeader(records(["istiod-0", "10:00:00"]), 100)).rejects.toThrow("nobody renews the leader lock");
});
