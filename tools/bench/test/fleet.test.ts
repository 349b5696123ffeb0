import { clusterType, routeType } from "@istiod/xds-server";
import { describe, expect, test } from "vitest";
import { mismatches, type ReportedChange } from "../src/fleet/comparison.js";
import { runFleet } from "../src/fleet/run.js";
import { parseScript } from "../src/fleet/script.js";
import { failures, quantile } from "../src/fleet/step-report.js";
import { mergeReports, type PartReport } from "../src/fleet/traffic.js";

describe("a script", () => {
  test("goes through the objects, repeats, and begins by connecting", () => {
    expect(parseScript("weight,weight@7*2,idle, weight")).toEqual([
      { name: "connect" },
      { name: "weight", index: 0 },
      { name: "weight", index: 7 },
      { name: "weight", index: 7 },
      { name: "idle" },
      { name: "weight", index: 1 },
    ]);
    expect(parseScript("connect,reconnect")).toEqual([{ name: "connect" }, { name: "reconnect" }]);
  });

  test("with a step that is none is refused by its name", () => {
    for (const word of ["wieght", "weight@", "weight*", "toString"])
      expect(() => parseScript(`idle,${word}`)).toThrow(`${word}: no such step`);
  });
});

const seen = (more: Partial<PartReport> = {}): PartReport => ({
  touched: 2,
  firstResponseAt: 1000,
  lastAcksAt: [1010, 1020],
  types: { [routeType]: { messages: 2, resources: 4, removed: 1, bytes: 110 } },
  requests: { messages: 2, bytes: 50 },
  broken: {},
  incomplete: 0,
  ...more,
});

describe("istiod's account of a step", () => {
  const counted = {
    before: { pushes: { rds: 5 }, bytes: { [routeType]: 1000 }, proxies: 3 },
    after: { pushes: { rds: 7 }, bytes: { [routeType]: 1100 }, proxies: 3 },
  };
  const reported: ReportedChange = {
    commits: 1,
    proxies: 2,
    responses: 2,
    resources: 4,
    removed: 1,
    bytes: 100,
    acks: 2,
    pending: 0,
    firstAckAt: 1011,
    lastAckAt: 1021,
  };

  test("that is what the proxies saw is right", () => {
    expect(mismatches(seen(), counted, reported, 3)).toEqual([]);
  });

  test.each([
    ["proxies connected: istiod says 3, the proxies saw 4", seen(), counted, reported, 4],
    [
      "rds responses by metrics: istiod says 3",
      seen(),
      { ...counted, after: { ...counted.after, pushes: { rds: 8 } } },
      reported,
      3,
    ],
    [
      "rds bytes by metrics: istiod says 100, the proxies saw 101",
      seen({ types: { [routeType]: { messages: 2, resources: 4, removed: 1, bytes: 111 } } }),
      counted,
      { ...reported, bytes: 101 },
      3,
    ],
    [
      "cds responses by metrics: istiod says 0, the proxies saw 1",
      seen({ types: { ...seen().types, [clusterType]: { messages: 1, resources: 0, removed: 0, bytes: 5 } } }),
      counted,
      reported,
      3,
    ],
    ["proxies touched by the change: istiod says 1", seen(), counted, { ...reported, proxies: 1 }, 3],
    ["resources of the change: istiod says 5", seen(), counted, { ...reported, resources: 5 }, 3],
    ["resources removed by the change: istiod says 0", seen(), counted, { ...reported, removed: 0 }, 3],
    ["responses that await an answer: istiod says 1", seen(), counted, { ...reported, pending: 1 }, 3],
    [
      "last acknowledgement: istiod says that it came 120 ms before the last proxy sent it",
      seen(),
      counted,
      { ...reported, lastAckAt: 900 },
      3,
    ],
  ] as const)("is told apart: %s", (text, client, metrics, change, proxies) => {
    expect(mismatches(client, metrics, change, proxies).join("\n")).toContain(text);
  });

  test("may leave out answers to what proxies asked because of the change, but not tell of more than came", () => {
    expect(mismatches(seen(), counted, { ...reported, responses: 1, acks: 1, resources: 3, bytes: 90 }, 3)).toEqual([]);
    expect(mismatches(seen(), counted, { ...reported, responses: 1, acks: 1, resources: 5 }, 3).join()).toContain(
      "resources of the change: istiod says 5, the proxies saw only 4",
    );
  });
});

test("parts of a fleet add up", () => {
  const other = seen({ touched: 1, firstResponseAt: 900, lastAcksAt: [950], broken: { gone: 2 }, incomplete: 1 });
  expect(
    mergeReports([
      seen({ broken: { gone: 1 } }),
      other,
      seen({ touched: 0, firstResponseAt: undefined, lastAcksAt: [], types: {} }),
    ]),
  ).toMatchObject({
    touched: 3,
    firstResponseAt: 900,
    lastAcksAt: [1010, 1020, 950],
    types: { [routeType]: { messages: 4, resources: 8, removed: 2, bytes: 220 } },
    broken: { gone: 3 },
    incomplete: 1,
  });
  expect([0.5, 0.9, 1].map((part) => quantile([1, 2, 3, 4], part))).toEqual([3, 4, 4]);
});

describe("a small fleet", () => {
  test.each(["delta", "sotw"] as const)(
    "on %s sees what each change is worth, and istiod says the same",
    async (variant) => {
      const script = parseScript("connect,metadata,endpoint,weight,service-add,service-del,reconnect,restart");
      const { steps, proxies } = await runFleet({
        mesh: { services: 20, namespaces: 2, proxies: 10, gatewayRoutes: 2, scoped: 1, inFirst: 4, seed: 3 },
        variant,
        script,
        quietMs: 250,
        minWaitMs: 500,
        threads: variant === "delta" ? 1 : 0,
      });
      expect(steps.flatMap(failures)).toEqual([]);
      expect(proxies).toBe(12);
      const of = (name: string) => steps.find((step) => step.name === name)!;
      expect(of("connect").touched).toBe(12);
      expect(of("connect").serverCpuSeconds).toBeGreaterThan(0);
      expect(of("connect").rss.peak).toBeGreaterThan(of("connect").rss.before / 2);
      expect(of("metadata")).toMatchObject({ touched: 0, total: { messages: 0, bytes: 0 }, istiod: { commits: 0 } });
      expect(of("weight")).toMatchObject({ touched: 4, istiod: { commits: 1, proxies: 4 } });
      expect(Object.keys(of("weight").types)).toEqual([routeType]);
      expect(of("endpoint").total.messages).toBe(of("endpoint").touched);
      expect(of("service-add").touched).toBeGreaterThanOrEqual(4);
      expect(of("reconnect").total.resources).toBe(variant === "delta" ? 0 : of("connect").total.resources);
      expect(of("reconnect").lastAckMs?.max).toBeGreaterThan(0);
      expect(of("restart").what).toMatch(/^istiod ready again after .* s with .* CPU s; 12 proxies at once$/);
      expect(of("restart").total).toEqual(of("reconnect").total);
    },
    60_000,
  );
});
