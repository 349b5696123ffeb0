import { formatStatus, isIneffective, isLive, type ObjectStatus } from "@istiod/push-report";
import { expect, test } from "vitest";

const status: ObjectStatus = {
  object: { kind: "Gateway", namespace: "shop", name: "front" },
  found: true,
  connected: 7,
  settling: 0,
  reached: 0,
  live: 0,
  rejected: 0,
  missing: [],
};

test("an object that reaches no proxy is waited for while the proxies of its Gateway are not connected", () => {
  expect(isIneffective(status)).toBe(true);
  const awaited = { ...status, awaited: "shop/front" };
  expect([isIneffective(awaited), isLive(awaited)]).toEqual([false, false]);
  expect(formatStatus(awaited)).toBe(
    "Gateway/shop/front: reaches none of 7 connected proxies: those of Gateway shop/front are not connected yet",
  );
  expect(formatStatus({ ...awaited, connected: 0 })).toBe(
    "Gateway/shop/front: reaches none of 0 connected proxies: those of Gateway shop/front are not connected yet",
  );
  expect(isIneffective({ ...awaited, noEffect: "it has none" })).toBe(true);
  expect(isLive({ ...awaited, reached: 1, live: 1 })).toBe(true);
});
