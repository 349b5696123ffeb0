import { getEventListeners } from "node:events";
import { abortableDelay } from "@istiod/runtime";
import { FakeClock } from "@istiod/runtime/testing";
import { describe, expect, it } from "vitest";

describe("a delay that a signal ends", () => {
  it("ends after its time, and leaves no listener", async () => {
    const [clock, { signal }] = [new FakeClock(), new AbortController()];
    const delay = abortableDelay(clock, 1000, signal);
    expect(clock.pending).toEqual([1000]);
    clock.advance(1000);
    await delay;
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("ends when the signal aborts, and leaves no timer", async () => {
    const [clock, controller] = [new FakeClock(), new AbortController()];
    const delay = abortableDelay(clock, 1000, controller.signal);
    controller.abort();
    await delay;
    expect(clock.pending).toEqual([]);
  });

  it("does not begin after the signal aborted", async () => {
    const clock = new FakeClock();
    await abortableDelay(clock, 1000, AbortSignal.abort());
    expect(clock.pending).toEqual([]);
  });
});
