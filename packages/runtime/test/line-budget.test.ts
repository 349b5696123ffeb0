import { LineBudget, LineBudgets, shortened } from "@istiod/runtime";
import { FakeClock } from "@istiod/runtime/testing";
import { expect, it } from "vitest";

it("allows a number of lines at once, then one in each interval, and counts those between", () => {
  const clock = new FakeClock();
  const budget = new LineBudget(clock, { burst: 2, intervalMs: 1000 });
  expect([budget.take(), budget.take(), budget.take(), budget.take()]).toEqual([{}, {}, undefined, undefined]);
  clock.advance(1000);
  expect([budget.take(), budget.take()]).toEqual([{ suppressed: 2 }, undefined]);
  expect(budget.suppressed).toBe(1);
});

it("begins an interval with the first line of a whole budget, however long nothing was logged", () => {
  const clock = new FakeClock();
  const budget = new LineBudget(clock, { burst: 1, intervalMs: 60_000 });
  clock.advance(90_000);
  expect(budget.take()).toEqual({});
  clock.advance(59_999);
  expect(budget.take()).toBeUndefined();
  clock.advance(1);
  expect(budget.take()).toEqual({ suppressed: 1 });
});

it("keeps budgets of the clients that were logged last", () => {
  const budgets = new LineBudgets(new FakeClock(), 2);
  const first = budgets.of("a");
  budgets.of("b");
  expect(budgets.of("a")).toBe(first);
  budgets.of("c");
  expect(budgets.of("a")).toBe(first);
  expect(budgets.delete("b")).toBe(0);
});

it("shortens texts from outside", () => {
  expect(shortened("abc", 3)).toBe("abc");
  expect(shortened("abcd", 3)).toBe("abc… (4 characters)");
});
