import { expect, test } from "vitest";
import { messagesOf } from "./messages-of.js";
import { recomputedBy } from "./recomputations.js";

const analyzer = "mesh.GatewayAnalyzer";

interface Fields {
  readonly hosts?: readonly string[];
  readonly gateways?: readonly string[];
  readonly created?: string;
  readonly http?: string;
}

const everything = "{route: [{destination: {host: web}}]}";
const virtualService = (
  name: string,
  { hosts = ["a.example"], gateways = ["shop/front"], created = "2020-01-01T00:00:00Z", http = everything }: Fields,
): string =>
  `{apiVersion: networking.istio.io/v1, kind: VirtualService, metadata: {name: ${name}, namespace: shop, creationTimestamp: "${created}"},` +
  ` spec: {hosts: [${hosts.join(", ")}], gateways: [${gateways.join(", ")}], http: [${http}]}}`;

const shadowed = (...texts: readonly string[]): readonly string[] =>
  messagesOf(analyzer, texts.join("\n---\n")).map((message) =>
    message.replace(
      /^\S+ VirtualService shop\/(\S+) \d+: the route for every request of (\S+) at .*VirtualService shop\/(\S+), .*$/,
      "$1 $2 by $3",
    ),
  );

test("names the oldest catch-all route of the host at the gateway", () => {
  const old = { created: "2019-01-01T00:00:00Z" };
  expect(shadowed(virtualService("a", {}), virtualService("b", {}), virtualService("z", old))).toEqual([
    "a a.example by z",
    "b a.example by z",
  ]);
  expect(shadowed(virtualService("b", {}), virtualService("a", {}))).toEqual(["b a.example by a"]);
});

test("compares hosts at the same gateway only, by the gateway's full name", () => {
  expect(shadowed(virtualService("a", {}), virtualService("b", { gateways: ["front"] }))).toEqual(["b a.example by a"]);
  expect(shadowed(virtualService("a", {}), virtualService("b", { gateways: ["other/front"] }))).toEqual([]);
  expect(shadowed(virtualService("a", { gateways: ["mesh"] }), virtualService("b", { gateways: ["mesh"] }))).toEqual(
    [],
  );
  expect(shadowed(virtualService("a", {}), virtualService("b", { hosts: ["b.example"] }))).toEqual([]);
  expect(shadowed(virtualService("a", {}), virtualService("b", { hosts: ["b.example", "a.example"] }))).toEqual([
    "b a.example by a",
  ]);
});

test("ignores older routes that do not match every request", () => {
  const partial = `{match: [{uri: {prefix: /x}}], route: [{destination: {host: web}}]}`;
  const whole = `{match: [{uri: {prefix: /}}], route: [{destination: {host: web}}]}`;
  expect(shadowed(virtualService("a", { http: partial }), virtualService("b", {}))).toEqual([]);
  expect(shadowed(virtualService("a", { http: whole }), virtualService("b", {}))).toEqual(["b a.example by a"]);
});

/** Returns the queries that a change of the host of one VirtualService recomputes, among others of one gateway. */
const recomputedAmong = (others: number): number =>
  recomputedBy(
    virtualService("vs-0", { hosts: ["hx.example"] }),
    Array.from({ length: others }, (_, index) => virtualService(`vs-${index}`, { hosts: [`h${index}.example`] })),
  );

test("recomputes as much for a change among many VirtualServices of a gateway as among few", () => {
  expect(recomputedAmong(100)).toBe(recomputedAmong(10));
});
