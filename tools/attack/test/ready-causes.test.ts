import { expect, it } from "vitest";
import { causeOf, slowAnswers } from "../src/soak/ready-causes.js";

const turn = (endedAt: number, ms: number, ranMs: number) => ({
  endedAt,
  ms,
  ranMs,
  waitedMs: ms - ranMs,
  collectedMs: 0,
});

it("an answer is slow because istiod's event loop ran, had no CPU, or for neither reason", () => {
  const answer = { endedAt: 1000, ms: 300 };
  expect(causeOf(answer, [turn(990, 250, 240)])).toBe("istiod ran");
  expect(causeOf(answer, [turn(990, 250, 20)])).toBe("istiod had no CPU");
  expect(causeOf(answer, [turn(990, 80, 80)])).toBe("elsewhere");
  expect(causeOf(answer, [])).toBe("elsewhere");
});

it("turns count only as far as they overlap the answer, and together", () => {
  const answer = { endedAt: 1000, ms: 300 };
  expect(causeOf(answer, [turn(750, 400, 400)])).toBe("elsewhere");
  expect(causeOf(answer, [turn(800, 100, 100), turn(950, 100, 100)])).toBe("istiod ran");
});

it("a turn without times of the scheduler counts as running", () => {
  expect(causeOf({ endedAt: 1000, ms: 300 }, [{ endedAt: 1000, ms: 200, collectedMs: 0 }])).toBe("istiod ran");
});

it("counts answers above the limit by cause", () => {
  const answers = [
    { endedAt: 1000, ms: 300 },
    { endedAt: 1100, ms: 250 },
    { endedAt: 2000, ms: 251 },
  ];
  expect([...slowAnswers(answers, [turn(1000, 290, 290)], 250)]).toEqual([
    ["istiod ran", 1],
    ["elsewhere", 1],
  ]);
});
