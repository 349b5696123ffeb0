import { Backoff, backoffDelay } from "@istiod/runtime";
import { describe, expect, it } from "vitest";

describe("Backoff", () => {
  it("doubles the delay up to the maximum, and starts again after a success", () => {
    const backoff = new Backoff({ initialMs: 100, maxMs: 350, random: () => 1 });
    expect([backoff.next(), backoff.next(), backoff.next(), backoff.next()]).toEqual([100, 200, 350, 350]);
    backoff.reset();
    expect(backoff.next()).toBe(100);
  });

  it("spreads a delay over the upper half of its step", () => {
    expect(new Backoff({ initialMs: 100, random: () => 0 }).next()).toBe(50);
    expect(new Backoff({ initialMs: 100, random: () => 0.5 }).next()).toBe(75);
  });

  it("does not return before the time that the other side asked for", () => {
    const backoff = new Backoff({ initialMs: 100, random: () => 1 });
    expect(backoff.next(5000)).toBe(5000);
    expect(backoff.next(10)).toBe(200);
  });
});

describe("backoffDelay", () => {
  it("stays at the maximum however many attempts have failed", () => {
    expect(backoffDelay(5000, { initialMs: 1, maxMs: 60_000, random: () => 1 })).toBe(60_000);
  });
});
