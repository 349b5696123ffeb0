import { formatStatus, isGone, isIneffective, isLive, type ObjectStatus } from "@istiod/push-report";
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

test("an object that istiod writes for another one is waited for, unless nobody writes it", () => {
  const object = { kind: "InferencePool", namespace: "shop", name: "model" };
  const unwritten = { ...status, object, unwritten: { kind: "Service", namespace: "shop", name: "model-ip" } };
  expect([isIneffective(unwritten), isLive({ ...unwritten, reached: 1, live: 1 })]).toEqual([false, false]);
  expect(formatStatus({ ...unwritten, connected: 0 })).toBe("InferencePool/shop/model: no proxy is connected");
  const never = { ...unwritten, awaited: "shop/front", reasonUnwritten: "there is no cluster" };
  const clause =
    "Service/shop/model-ip, which istiod writes for it, is missing or outdated, and nobody writes it here: there is no cluster";
  for (const connected of [0, 7]) {
    const each = { ...never, connected };
    expect([isIneffective(each), isLive(each)]).toEqual([true, false]);
    expect(formatStatus(each)).toBe(
      `InferencePool/shop/model: reaches none of ${connected} connected proxies: ${clause}`,
    );
  }
  const old = { ...never, reached: 1, live: 1 };
  expect([isIneffective(old), isLive(old)]).toEqual([true, false]);
  expect(formatStatus(old)).toBe(`InferencePool/shop/model: live on 1 of 1 proxy; ${clause}`);
});

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

test("a deleted object is gone when the one that istiod wrote for it is", () => {
  const object = { kind: "InferencePool", namespace: "shop", name: "model" };
  const deleted = { ...status, object, found: false, revision: 3, reached: 2, live: 2 };
  const left = { ...deleted, unremoved: { kind: "Service", namespace: "shop", name: "model-ip" } };
  expect([isGone(deleted), isGone(left)]).toEqual([true, false]);
  const clause = "; Service/shop/model-ip, which istiod wrote for it, still exists";
  expect(formatStatus(left)).toBe(`InferencePool/shop/model: deleted, gone from 2 of 2 proxies${clause}`);
  const { revision: _, ...unknown } = left;
  expect(formatStatus(unknown)).toBe(`InferencePool/shop/model: not found${clause}`);
});
