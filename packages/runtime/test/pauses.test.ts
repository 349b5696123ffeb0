import { expect, it } from "vitest";
import { pauseEvery } from "../src/index.js";

function work(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

it("pauses once a slice is used up, and begins the next slice after the pause", async () => {
  let turns = 0;
  const pause = pauseEvery(5, async () => work(++turns * 5));
  expect(pause()).toBeUndefined();
  work(5);
  await pause();
  expect(turns).toBe(1);
  expect(pause()).toBeUndefined();
});

it("lets the event loop have a turn", async () => {
  const pause = pauseEvery(0);
  let hadTurn = false;
  setImmediate(() => (hadTurn = true));
  await pause();
  expect(hadTurn).toBe(true);
});
