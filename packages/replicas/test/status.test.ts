import {
  type Ask,
  type ControlPlaneStatus,
  formatControlPlaneStatus,
  type Gathered,
  gatherStatus,
  joinStatus,
  statusExit,
  statusExits,
  type StatusAnswer,
} from "@istiod/replicas";
import { expect, test } from "vitest";
import { gathered, instance, proxy, statusOf } from "./fakes.js";

const name = "VirtualService/shop/cart";
const missing = {
  proxy: "sidecar~10.0.0.1~web.shop~shop.svc.cluster.local",
  reason: "not acknowledged" as const,
  typeUrl: "type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
  resources: ["80"],
};
const exit = (status: ControlPlaneStatus, goal?: string): number => statusExit(status, [name], goal);
const [a, b] = [instance("a"), instance("b")];
const written = { kind: "Service", namespace: "shop", name: "model-ip" };
const silent = [{ name: "c", reason: "no route" }];

test.each<readonly [string, StatusAnswer, StatusAnswer, number, string]>([
  [
    "the proxies of all count",
    statusOf({ reached: 2 }),
    statusOf({ reached: 1 }),
    statusExits.live,
    "live on 3 of 3 proxies",
  ],
  [
    "a replica without proxies that it reaches does not make it ineffective",
    statusOf({ reached: 1 }),
    statusOf({ connected: 4 }),
    statusExits.live,
    "live on 1 of 1 proxy",
  ],
  [
    "a replica that has acknowledged nothing yet is waited for",
    statusOf({ reached: 1 }),
    statusOf({ reached: 2, live: 1, missing: [missing] }),
    statusExits.notLive,
    `live on 2 of 3 proxies\n  ${missing.proxy}: RouteConfiguration 80 not acknowledged`,
  ],
  [
    "a rejection on one replica is one",
    statusOf({ reached: 1 }),
    statusOf({ reached: 1, live: 0, rejected: 1 }),
    statusExits.rejected,
    "live on 1 of 2 proxies, rejected by 1",
  ],
  [
    "it reaches none of all",
    statusOf({ connected: 2 }),
    statusOf({ connected: 1 }),
    statusExits.ineffective,
    "reaches none of 3 connected proxies",
  ],
  [
    "while a proxy of one settles, it may still reach one",
    statusOf({ connected: 2 }),
    statusOf({ connected: 1, settling: 1 }),
    statusExits.notLive,
    "reaches none of 3 connected proxies yet; 1 still settling",
  ],
  [
    "an object that istiod writes for it is outdated on one",
    statusOf({ reached: 1 }),
    statusOf({ reached: 1, unwritten: written }),
    statusExits.notLive,
    "live on 2 of 2 proxies; Service/shop/model-ip, which istiod writes for it, is missing or outdated",
  ],
  [
    "an object that nobody writes for it is not waited for",
    statusOf({ connected: 1, unwritten: written, reasonUnwritten: "there is no cluster" }),
    statusOf({ connected: 1, settling: 1, unwritten: written, reasonUnwritten: "there is no cluster" }),
    statusExits.ineffective,
    "reaches none of 2 connected proxies: Service/shop/model-ip, which istiod writes for it, is missing or outdated, and nobody writes it here: there is no cluster",
  ],
  [
    "an object that one writes is waited for",
    statusOf({ connected: 1, unwritten: written, reasonUnwritten: "there is no cluster" }),
    statusOf({ connected: 1, unwritten: written }),
    statusExits.notLive,
    "reaches none of 2 connected proxies: Service/shop/model-ip, which istiod writes for it, is missing or outdated",
  ],
  ["no proxy is connected to any", statusOf({}), statusOf({}), statusExits.notLive, "no proxy is connected"],
  [
    "one has not read the latest version",
    statusOf({ reached: 1 }),
    statusOf({ reached: 1, unread: [{ source: "cluster Kubernetes" }] }),
    statusExits.notLive,
    "live on 2 of 2 proxies\n  stale: b has not read the latest version from cluster Kubernetes yet",
  ],
  [
    "one cannot tell whether it has",
    statusOf({ reached: 1 }),
    statusOf({ reached: 1, unread: [{ source: "cluster Kubernetes", error: "503" }] }),
    statusExits.notLive,
    "live on 2 of 2 proxies\n  possibly stale: b cannot read the latest version from cluster Kubernetes: 503",
  ],
  [
    "one does not have the object yet",
    statusOf({ reached: 1 }),
    statusOf({ found: false }),
    statusExits.notLive,
    "live on 1 of 1 proxy\n  stale: b has not read the latest version from its sources yet",
  ],
  [
    "one gathers a change",
    statusOf({ reached: 1 }),
    statusOf({ reached: 1 }, { gathering: true }),
    statusExits.notLive,
    "live on 2 of 2 proxies",
  ],
  [
    "the source of one rejects it",
    statusOf({ reached: 1 }),
    statusOf({ reached: 1 }, { problems: [{ object: name, severity: "error", text: "cart.yaml:3: no" }] }),
    statusExits.rejected,
    "live on 2 of 2 proxies\nerror: cart.yaml:3: no",
  ],
  [
    "it has no effect on any",
    statusOf({ noEffect: "nothing reads it" }),
    statusOf({ noEffect: "nothing reads it" }),
    statusExits.ineffective,
    "has no effect: nothing reads it",
  ],
])("%s", (_, first, second, expected, text) => {
  const joined = joinStatus(gathered([a, first], [b, second]));
  expect(formatControlPlaneStatus(joined)).toBe(`${name}: ${text}\n`);
  expect(exit(joined)).toBe(expected);
});

test("what all say is said once, and proxies that lack the same part are added up", () => {
  const finding = { code: "IST0101" as const, level: "Warning" as const, message: "host not found" };
  const omitted = [{ field: "spec.http[0]", reason: "shadowed", proxies: 2, proxy: "web.shop" }];
  const problems = [{ object: name, severity: "warning" as const, text: "old version" }];
  const answer = statusOf({ reached: 1, findings: [finding], omitted }, { problems, moreFindings: 3 });
  const joined = joinStatus(gathered([a, answer], [b, answer]));
  expect(joined).toMatchObject({
    problems,
    moreFindings: 3,
    objects: [{ findings: [finding], omitted: [{ proxies: 4, proxy: "web.shop" }] }],
  });
});

test.each<readonly [string, StatusAnswer, number]>([
  ["live elsewhere", statusOf({ reached: 1 }), statusExits.incomplete],
  ["not live elsewhere", statusOf({ reached: 1, live: 0 }), statusExits.incomplete],
  ["without effect elsewhere", statusOf({ connected: 1 }), statusExits.incomplete],
  [
    "rejected elsewhere, which the silent replica cannot change",
    statusOf({ reached: 1, live: 0, rejected: 1 }),
    statusExits.rejected,
  ],
])("a replica that does not answer is named, and the exit status says so: %s", (_, answer, expected) => {
  const joined = joinStatus({ ...gathered([a, answer]), silent });
  expect(formatControlPlaneStatus(joined)).toMatch(/\nc does not answer: no route\n$/);
  expect(exit(joined)).toBe(expected);
});

test("without any answer the command has failed", () => {
  expect(exit(joinStatus({ ...gathered<StatusAnswer>(), silent }))).toBe(statusExits.failed);
});

test("a deleted object is gone only when all replicas have read that", () => {
  const gone = statusOf({ found: false, revision: 9, reached: 1, live: 1 });
  expect(exit(joinStatus(gathered([a, gone], [b, gone])), "gone")).toBe(statusExits.live);
  expect(exit(joinStatus(gathered([a, gone], [b, statusOf({ reached: 1 })])), "gone")).toBe(statusExits.notLive);
});

/** A control plane of two replicas with answers by their parameters. */
function asking(answers: Readonly<Record<string, (parameters: URLSearchParams) => StatusAnswer>>): {
  readonly ask: Ask;
  readonly asked: string[];
} {
  const asked: string[] = [];
  const ask: Ask = async (_, parameters = new URLSearchParams(), { only } = {}) => {
    asked.push(`${only ?? "all"}: ${parameters.toString()}`);
    const of = Object.entries(answers).filter(([each]) => only === undefined || only === instance(each).id);
    return gathered(...of.map(([each, answer]) => [instance(each), answer(parameters)] as const)) as Gathered<unknown>;
  };
  return { ask, asked };
}

test("an earlier connection of a proxy, which never acknowledges, does not count", async () => {
  const { ask, asked } = asking({
    a: (parameters) =>
      parameters.getAll("without").includes("web-10")
        ? statusOf({ reached: 1 })
        : statusOf({ reached: 2, live: 1, missing: [missing] }, { connections: [proxy("web", 10), proxy("cart", 11)] }),
    b: () => statusOf({ reached: 1 }, { connections: [proxy("web", 20)] }),
  });
  const status = await gatherStatus(ask, { objects: [name], latest: true });
  expect(exit(status)).toBe(statusExits.live);
  expect(formatControlPlaneStatus(status)).toBe(`${name}: live on 2 of 2 proxies\n`);
  const of = "object=VirtualService%2Fshop%2Fcart&connections=true&latest=true";
  expect(asked).toEqual([`all: ${of}`, `id-of-a: ${of}&without=web-10`]);
});

test("clients that are not served are named by their latest connection, and change no exit status", async () => {
  const unsupported = "ztunnels are not supported";
  const { ask } = asking({
    a: () => statusOf({ reached: 1 }, { connections: [{ ...proxy("web", 10), unsupported }, proxy("cart", 11)] }),
    b: () => statusOf({}, { connections: [{ ...proxy("api", 20), unsupported }, proxy("web", 20)] }),
  });
  const status = await gatherStatus(ask, { objects: [name] });
  expect(status.unserved).toEqual([{ node: proxy("api", 20).node, reason: unsupported }]);
  expect(formatControlPlaneStatus(status)).toBe(
    `${name}: live on 1 of 1 proxy\n${proxy("api", 20).node} is not served: ${unsupported}\n`,
  );
  expect(exit(status)).toBe(statusExits.live);
});

test("without names, a replica that has not noticed a change is asked for the object that others name", async () => {
  const { ask, asked } = asking({
    a: () => statusOf({ reached: 1 }),
    b: (parameters) => (parameters.has("also") ? statusOf({ reached: 2 }) : { ...statusOf({}), objects: [] }),
  });
  const status = await gatherStatus(ask, { objects: [] });
  expect(formatControlPlaneStatus(status)).toBe(`${name}: live on 3 of 3 proxies\n`);
  expect(asked).toEqual(["all: connections=true", "id-of-b: connections=true&also=VirtualService%2Fshop%2Fcart"]);
});

test("a replica with half a status is silent", async () => {
  const half = { ...statusOf({}), objects: [{ object: {}, found: true }] };
  const { ask } = asking({ a: () => statusOf({ reached: 1 }), b: () => half as unknown as StatusAnswer });
  const status = await gatherStatus(ask, { objects: [name] });
  expect(status.silent).toEqual([{ name: "b", reason: "its statuses have another form (version 0.1.0)" }]);
  expect(exit(status)).toBe(statusExits.incomplete);
});
