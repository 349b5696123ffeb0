import { Database } from "@istiod/incremental";
import { SecretAccessReviews } from "@istiod/mesh-source";
import { secretPermissions } from "@istiod/push-context";
import { FakeClock } from "@istiod/runtime/testing";
import { expect, test } from "vitest";

interface Review {
  readonly username: string;
  readonly cluster: "own" | "remote";
  readonly answer: (allowed: boolean) => void;
  readonly fail: () => void;
}

/** Reviews that a test answers. */
function manual() {
  const asked: Review[] = [];
  const reviews = (cluster: Review["cluster"]) => ({
    subjectAccess: ({ username }: { readonly username: string }) =>
      new Promise<{ allowed: boolean }>((resolve, reject) => {
        const answer = (allowed: boolean): void => resolve({ allowed });
        asked.push({ username, cluster, answer, fail: () => reject(new Error("no API server")) });
      }),
  });
  const of = new Map([
    ["Kubernetes", reviews("own")],
    ["east", reviews("remote")],
  ]);
  const clock = new FakeClock();
  const database = new Database<never>();
  const warnings: unknown[] = [];
  const permissions = new SecretAccessReviews({
    database,
    reviewsOf: (cluster) => of.get(cluster),
    log: { info: () => undefined, warn: (...line: unknown[]) => void warnings.push(line) },
    clock,
  });
  const reader = { cluster: "Kubernetes", namespace: "edge", serviceAccount: "gw" };
  const decision = (): unknown => database.read(secretPermissions, "Kubernetes/edge/gw");
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return { asked, clock, database, permissions, reader, decision, settle, warnings, of };
}

test("a decision is renewed after five minutes if it allows, after one if it denies, and only while it is held", async () => {
  const { asked, clock, permissions, reader, decision, settle } = manual();
  const held = permissions.hold(reader);
  expect(asked.map(({ username }) => username)).toEqual(["system:serviceaccount:edge:gw"]);
  expect(decision()).toBeUndefined();
  asked[0]!.answer(true);
  await held.decided;
  expect(decision()).toBe("allowed");
  clock.advance(299_999);
  expect(asked).toHaveLength(1);
  clock.advance(1);
  asked[1]!.answer(false);
  await settle();
  expect(decision()).toBe("denied");
  clock.advance(60_000);
  asked[2]!.answer(true);
  await settle();
  expect(decision()).toBe("allowed");
  const second = permissions.hold(reader);
  held.release();
  held.release();
  clock.advance(300_000);
  expect(asked).toHaveLength(4);
  asked[3]!.answer(true);
  await settle();
  second.release();
  clock.advance(300_000);
  expect(asked).toHaveLength(4);
  expect(decision()).toBeUndefined();
  expect(clock.pending).toEqual([]);
});

test("while the API server cannot be asked, the last decision stays, and there is none without one", async () => {
  const { asked, clock, permissions, reader, decision, settle, warnings } = manual();
  const held = permissions.hold(reader);
  asked[0]!.fail();
  await held.decided;
  expect(decision()).toBeUndefined();
  clock.advance(1000);
  asked[1]!.answer(true);
  await settle();
  clock.advance(300_000);
  for (const wait of [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]) {
    asked.at(-1)!.fail();
    await settle();
    expect(decision()).toBe("allowed");
    const before = asked.length;
    clock.advance(wait - 1);
    expect(asked).toHaveLength(before);
    clock.advance(1);
    expect(asked).toHaveLength(before + 1);
  }
  expect(warnings).toHaveLength(2);
});

test("a proxy waits two seconds for a decision at most", async () => {
  const { clock, permissions, reader, decision } = manual();
  const held = permissions.hold(reader);
  clock.advance(2000);
  await held.decided;
  expect(decision()).toBeUndefined();
});

test("a proxy's own cluster decides, and istiod's for no other", async () => {
  const { asked, database, permissions, reader } = manual();
  permissions.hold({ ...reader, cluster: "east" });
  await permissions.hold({ ...reader, cluster: "unknown" }).decided;
  expect(asked.map(({ cluster: of }) => of)).toEqual(["remote"]);
  expect(database.read(secretPermissions, "unknown/edge/gw")).toBe("undecidable");
});

test("a cluster that is removed takes its decisions with it, and decides again when it is back", async () => {
  const { asked, database, permissions, reader, settle, of } = manual();
  const east = { ...reader, cluster: "east" };
  const decision = (): unknown => database.read(secretPermissions, "east/edge/gw");
  const held = permissions.hold(east);
  asked[0]!.answer(true);
  await held.decided;
  const reviews = of.get("east")!;
  of.delete("east");
  permissions.clusterChanged("east", "remove");
  expect(decision()).toBeUndefined();
  await settle();
  expect(decision()).toBe("undecidable");
  of.set("east", reviews);
  permissions.clusterChanged("east", "add");
  permissions.clusterChanged("east", "replace");
  expect(asked).toHaveLength(3);
  asked[2]!.answer(false);
  asked[1]!.answer(true);
  await settle();
  expect(decision()).toBe("denied");
});
