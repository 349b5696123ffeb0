import { expect, test } from "vitest";
import { readText } from "../src/index.js";

interface Match {
  readonly uri?: object;
  readonly headers?: object;
  readonly port?: number;
}

/** Returns the findings on routes with one match each, without the object's name. */
function findings(matches: readonly Match[]): string[] {
  const text = JSON.stringify({
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name: "many", namespace: "shop" },
    spec: {
      hosts: ["web"],
      http: matches.map((match) => ({ match: [match], route: [{ destination: { host: "web" } }] })),
    },
  });
  return readText(text, "a.yaml")
    .flatMap(({ problems }) => problems)
    .map(({ message }) => message)
    .filter((message) => message.includes("takes"));
}

const prefix = (value: string, more: Omit<Match, "uri"> = {}): Match => ({ uri: { prefix: value }, ...more });
const user = (exact: string): Omit<Match, "uri"> => ({ headers: { "x-user": { exact } } });

test("the first of several shorter prefixes before a match is named, whichever is shorter", () => {
  expect(findings([prefix("/ab"), prefix("/a"), prefix("/abc"), prefix("/a")])).toEqual([
    expect.stringContaining("the prefix /ab of #0 takes /abc before it"),
  ]);
  expect(findings([prefix("/a"), prefix("/ab"), prefix("/abc")])).toEqual([
    expect.stringContaining("the prefix /a of #0 takes /ab before it"),
    expect.stringContaining("the prefix /a of #0 takes /abc before it"),
  ]);
});

test("a prefix with another port, other headers or other values takes nothing", () => {
  expect(findings([prefix("/a", { port: 80 }), prefix("/ab", { port: 81 })])).toEqual([]);
  expect(findings([prefix("/a", user("jason")), prefix("/ab")])).toEqual([]);
  expect(findings([prefix("/a"), prefix("/ab", user("jason"))])).toEqual([]);
  expect(findings([prefix("/a", user("jason")), prefix("/ab", user("anna"))])).toEqual([]);
  expect(findings([prefix("/a", user("anna")), prefix("/a", user("jason")), prefix("/ab", user("jason"))])).toEqual([
    expect.stringContaining("the prefix /a of #1 takes /ab before it"),
  ]);
});

test("thousands of prefixes cost about as much as thousands of exact paths", { timeout: 60_000 }, () => {
  const count = 10_000;
  const cpu = (matches: readonly Match[], expected: number): number => {
    const before = process.cpuUsage();
    expect(findings(matches)).toHaveLength(expected);
    return process.cpuUsage(before).user;
  };
  const paths = Array.from({ length: count }, (_, index) => `/route-${index}/`);
  cpu([prefix("/a")], 0);
  const exact = cpu(
    paths.map((path) => ({ uri: { exact: path } })),
    0,
  );
  // Comparing each with all before it costs seven times as much.
  expect(
    cpu(
      [...paths, "/route-0/x"].map((path) => prefix(path)),
      1,
    ),
  ).toBeLessThan(3 * exact);
});
