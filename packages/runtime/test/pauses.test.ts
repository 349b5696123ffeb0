import { expect, it, onTestFinished, vi } from "vitest";
import { pauseEvery } from "../src/index.js";

it("pauses once a slice is used up, and begins the next slice after the pause", async () => {
  let now = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  let turns = 0;
  const pause = pauseEvery(5, async () => {
    turns++;
    now += 100;
  });
  now += 4;
  expect(pause()).toBeUndefined();
  now += 1;
  await pause();
  expect(turns).toBe(1);
  now += 4;
  expect(pause()).toBeUndefined();
  now += 1;
  await pause();
  expect(turns).toBe(2);
});

it("lets the event loop have a turn", async () => {
  const pause = pauseEvery(0);
  let hadTurn = false;
  setImmediate(() => (hadTurn = true));
  await pause();
  expect(hadTurn).toBe(true);
});
