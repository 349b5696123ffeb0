import { describe, expect, it } from "vitest";
import { findingChanges, formatFinding, withoutProblems } from "../src/findings.js";
import type { ProxyStatus, Snapshot } from "../src/istiod-client.js";
import type { Problem } from "../src/problem.js";
import { saveReport } from "../src/save-report.js";
import { followSave } from "../src/saves.js";

const proxy = (name: string, sent: string, acked = sent, lastError?: string): ProxyStatus => ({
  proxy: name,
  resources: { routes: { sent, acked, ...(lastError !== undefined && { lastError }) } },
});
const state = (proxies: readonly ProxyStatus[], problems: readonly Problem[] = [], gathering = false): Snapshot => ({
  gathering,
  problems,
  proxies,
});
const problem: Problem = {
  severity: "error",
  text: '/copy/traffic.yaml:13: VirtualService bookinfo/reviews: weight: is "most", expected an integer',
};
const quick = { quiet: 50, notice: 100, limit: 5000 };

/** Follows a save while istiod is in one state after the other, and in the last one from then on. */
async function report(before: Snapshot, ...states: readonly Snapshot[]): Promise<string[]> {
  const left = [...states];
  const read = (): Promise<Snapshot> => Promise.resolve((left.length > 1 ? left.shift() : left[0])!);
  const result = await followSave(read, before, Date.now(), quick);
  return saveReport(result, 2, (text) => text.replace("/copy/", "samples/")).map((line) =>
    line.replace(/after \d+ ms/, "after N ms"),
  );
}

describe("a save", () => {
  const before = state([proxy("a", "1"), proxy("b", "1")]);

  it("that concerns a proxy is followed until it has acknowledged it", async () => {
    const lines = await report(
      before,
      state(before.proxies, [], true),
      before,
      state([proxy("a", "2", "1"), proxy("b", "1")]),
      state([proxy("a", "2"), proxy("b", "1")]),
    );
    expect(lines).toEqual(["saved       1 of 2 proxies updated, all acknowledged after N ms"]);
  });

  it("that changes nothing for proxies says so", async () => {
    expect(await report(before, state(before.proxies, [], true), before)).toEqual([
      "saved       nothing changed for proxies",
    ]);
    expect(await report(before, before), "not noticed at all").toEqual(["saved       nothing changed for proxies"]);
  });

  it("that is rejected names file and line, and later that it is resolved", async () => {
    const bad = state(before.proxies, [problem]);
    expect(await report(before, state(before.proxies, [], true), bad)).toEqual([
      'rejected    samples/traffic.yaml:13: VirtualService bookinfo/reviews: weight: is "most", expected an integer',
      "saved       nothing changed for proxies; the last good version of what was rejected stays active",
    ]);
    expect(await report(bad, state(before.proxies, [problem], true), before)).toEqual([
      'resolved    samples/traffic.yaml:13: VirtualService bookinfo/reviews: weight: is "most", expected an integer',
      "saved       nothing changed for proxies",
    ]);
  });

  it("that istiod warns of says so", async () => {
    const lines = await report(
      before,
      state([proxy("a", "2"), proxy("b", "1")], [{ ...problem, severity: "warning" }]),
    );
    expect(lines[0]).toMatch(/^warning {5}samples\/traffic\.yaml:13/);
    expect(lines[1]).toBe("saved       1 of 2 proxies updated, all acknowledged after N ms");
  });

  it("that a proxy rejects gives Envoy's reason, once", async () => {
    const rejected = [proxy("a", "2", "1", "no such cluster"), proxy("b", "1")];
    expect(await report(before, state(rejected))).toEqual([
      "saved       1 of 2 proxies updated, all acknowledged after N ms",
      "            rejected by a: no such cluster",
    ]);
    expect(await report(state(rejected), state(rejected))).toEqual(["saved       nothing changed for proxies"]);
  });
});

describe("findings about accepted objects", () => {
  const subset = {
    code: "IST0101",
    level: "Error",
    origin: "VirtualService shop/cart",
    reference: "/copy/traffic.yaml:9",
    message: 'subset "v9" not found',
  };
  const port = { code: "IST0118", level: "Info", origin: "Service shop/cart", reference: "", message: "port name" };
  const moved = { ...subset, reference: "/copy/traffic.yaml:12" };

  it("are reported when a save adds and removes them, and not when they only move", () => {
    expect(findingChanges([port], [port, subset])).toEqual({ found: [subset], resolved: [] });
    expect(findingChanges([port, subset], [moved])).toEqual({ found: [], resolved: [port] });
    const result = { updated: 0, rejected: [], found: [], resolved: [], after: state([]) };
    const changes = { found: [subset], resolved: [port] };
    expect(saveReport(result, 2, (text) => text.replace("/copy/", "samples/"), changes)).toEqual([
      'finding     samples/traffic.yaml:9: VirtualService shop/cart: subset "v9" not found [Error IST0101]',
      "resolved    Service shop/cart: port name [Info IST0118]",
      "saved       nothing changed for proxies",
    ]);
  });

  it("do not repeat rejected documents", () => {
    const { text } = problem;
    const [reference = "", origin = "", ...rest] = text.split(": ");
    const repeated = { code: "IST0106", level: "Error", origin, reference, message: rest.join(": ") };
    expect(withoutProblems([repeated, subset], [problem])).toEqual([subset]);
    expect(formatFinding(subset)).toContain("[Error IST0101]");
  });
});
