import { setImmediate as turn } from "node:timers/promises";
import { UnreadBytes } from "@istiod/runtime";
import { FakeClock } from "@istiod/runtime/testing";
import { expect, test } from "vitest";

test("there is room while fewer bytes than the maximum are not read", async () => {
  const unread = new UnreadBytes({ maxBytes: 100, readMs: 5000, clock: new FakeClock() });
  await unread.untilRoom();
  const read = unread.hold(99, () => undefined);
  await unread.untilRoom();
  unread.hold(1, () => undefined);
  let waiting = 2;
  for (let at = 0; at < 2; at++) void unread.untilRoom().then(() => waiting--);
  await turn();
  expect(waiting).toBe(2);
  read();
  read();
  await turn();
  expect(waiting).toBe(0);
});

test("clients that take too long are cut off, but only while somebody waits", async () => {
  const clock = new FakeClock();
  const unread = new UnreadBytes({ maxBytes: 100, readMs: 5000, clock });
  const cut: string[] = [];
  const hold = (name: string): void => {
    const read = unread.hold(100, () => {
      cut.push(name);
      read();
    });
  };
  hold("slow");
  clock.advance(4000);
  hold("later");
  clock.advance(60_000);
  await turn();
  expect(cut).toEqual([]);
  hold("new");
  let hasRoom = false;
  void unread.untilRoom().then(() => (hasRoom = true));
  clock.advance(1000);
  await turn();
  expect(cut).toEqual(["slow", "later"]);
  expect(hasRoom).toBe(false);
  for (let second = 0; second < 5; second++) {
    clock.advance(1000);
    await turn();
  }
  expect(cut).toEqual(["slow", "later", "new"]);
  expect(hasRoom).toBe(true);
});
