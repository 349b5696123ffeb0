import { ComparisonReport, type Pair } from "@istiod/parity";
import { expect, it } from "vitest";
import { causes } from "../src/causes.js";
import type { ComparedType, CompareContext } from "../src/compare-context.js";

it("statuses that nobody has written are not counted as equal", () => {
  const report = new ComparisonReport<ComparedType, CompareContext>(causes, 1);
  const status = { conditions: { Accepted: { status: "True", reason: "Accepted", message: "" } } };
  const pairs: readonly Pair[] = [
    [{}, {}],
    [{}, {}],
    [status, status],
    [status, {}],
    [{}, status],
  ];
  for (const pair of pairs) report.add("status", "a", pair, { name: "HTTPRoute shop/a", objects: [] });
  expect(Object.fromEntries([...report.counts].filter(([key]) => !key.includes("explained")))).toEqual({
    "status: none on either side": 2,
    "status: equal": 1,
    "status: different": 2,
  });
  expect(report.unexplained).toBe(2);
});
