import { expect, test } from "vitest";
import { type EventResult, failuresOf, row } from "../src/verdict.js";

const met: EventResult = {
  event: "kill-leader",
  seconds: 61,
  traffic: { succeeded: 30_000, failed: 0, failures: [], held: 0, p99: 12, longest: 80 },
  cpuWait: 0.25,
  admission: { calls: 120, repeated: 1, errors: [] },
  changes: 60,
  reconnections: { streams: 70, first: 7_000_000, resent: 70_000 },
  lostUpdates: [],
  losses: [],
  leadershipSeconds: 30,
  kills: 1,
};

test("an event that meets every bar has no failures", () => {
  expect(failuresOf(met)).toEqual([]);
  expect(row(met)).toBe(
    "| `kill-leader` | 61 | 30000, **0** | 12, 80 | 0.3 | 60, **0** | 120, 1, **0** | 70, 1.00 % | 30.0 |",
  );
});

test.each<[string, Partial<EventResult>]>([
  [
    "1 requests failed, by proxies without CPU for 0.3 s: status 503",
    { traffic: { ...met.traffic, failed: 1, failures: ["status 503"] } },
  ],
  ["no request was answered", { traffic: { ...met.traffic, succeeded: 0 } }],
  ["7 requests were not sent, because others were not answered", { traffic: { ...met.traffic, held: 7 } }],
  ["1 lost updates: Cluster a is missing", { lostUpdates: ["Cluster a is missing"] }],
  ["1 losses: a lost Cluster b", { losses: ["a lost Cluster b"] }],
  ["1 webhook errors: denied", { admission: { ...met.admission, errors: ["denied"] } }],
  ["2 calls of webhooks were not answered, expected 1 at most", { admission: { ...met.admission, repeated: 2 } }],
  ["no webhook was called", { admission: { ...met.admission, calls: 0 } }],
  ["nothing was changed", { changes: 0 }],
  ["1.01 % of a first connection were sent again", { reconnections: { streams: 1, first: 10_000, resent: 101 } }],
  ["leadership moved after 30.1 s, expected 30 s at most", { leadershipSeconds: 30.1 }],
])("a bar that is not met is named: %s", (text, figures) => {
  expect(failuresOf({ ...met, ...figures })).toEqual([text]);
});
