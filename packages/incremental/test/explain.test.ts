import { expect, test } from "vitest";
import { collection, Database, fact, index, query } from "@istiod/incremental";

interface Client {
  readonly namespace: string;
}

const services = collection<{ readonly host: string }>("Service");
const rules = collection<{ readonly host: string; readonly timeout: number }>("Rule");
const pods = collection<string>("Pod");
const rulesByHost = index(rules, "byHost", (rule) => [rule.host]);
const namespace = fact("namespace", (client: Client) => client.namespace);
const app = fact("app", (client: Client, _arg: void, q) => q.read(pods, client.namespace));

const policy = query("policy", (q, host: string) => ({
  timeout: q.read(rulesByHost, host)[0]?.timeout,
  from: q.ask(namespace),
}));
const cluster = query("cluster", (q, key: string) => ({
  policy: q.call(policy, q.read(services, key)?.host ?? ""),
  app: q.ask(app),
}));
const clusters = query("clusters", (q) => q.keys(services).map((key) => q.call(cluster, key)));

test("lists every input, fact and query that a result was computed from, with sharing, without computing anything", () => {
  const db = new Database<Client>();
  db.commit((tx) => {
    tx.set(services, "a", { host: "h" });
    tx.set(services, "b", { host: "h" });
    tx.set(rules, "r", { host: "h", timeout: 5 });
  });
  const view = db.view({ namespace: "shop" });
  view.call(clusters);
  const { recomputations, answers } = db.stats();
  const { tree, inputs, facts, queries } = view.explain(clusters);
  expect(db.stats()).toMatchObject({ recomputations, answers });
  expect(inputs).toEqual([
    { kind: "keys", of: "Service", collection: "Service", changedAt: 1 },
    { kind: "entry", collection: "Service", key: "a", present: true, changedAt: 1 },
    { kind: "bucket", index: "byHost", collection: "Rule", bucket: "h", members: ["r"], changedAt: 0 },
    { kind: "entry", collection: "Pod", key: "shop", present: false, changedAt: 0 },
    { kind: "entry", collection: "Service", key: "b", present: true, changedAt: 1 },
  ]);
  expect(facts.map(({ fact, answer }) => [fact, answer])).toEqual([
    ["namespace", "shop"],
    ["app", undefined],
  ]);
  expect(facts[1]?.reads).toEqual([inputs[3]]);
  expect(queries.map(({ query, arg }) => [query, arg])).toEqual([
    ["clusters", undefined],
    ["cluster", "a"],
    ["policy", "h"],
    ["cluster", "b"],
  ]);
  expect(queries[2]?.definition).toBe(policy);
  expect(queries[2]?.result).toEqual({ timeout: 5, from: "shop" });
  expect(tree.calls[0]?.calls[0]).toBeDefined();
  expect(tree.calls[0]?.facts[0]).toBeDefined();
  expect(tree.calls[0]?.calls[0]).toBe(tree.calls[1]?.calls[0]);
  expect(tree.calls[0]?.facts[0]).toBe(tree.calls[1]?.facts[0]);
  db.commit((tx) => tx.set(rules, "r", { host: "h", timeout: 6 }));
  expect(view.explain(clusters).inputs[2]).toMatchObject({ bucket: "h", changedAt: 2 });
});

test("explains an error", () => {
  const db = new Database<Client>();
  const strict = query("strict", (q) => {
    if (q.read(pods, "x") === undefined) throw new Error("no pod");
  });
  const { tree } = db.view({ namespace: "shop" }).explain(strict);
  expect(tree).toMatchObject({
    query: "strict",
    outcome: "error",
    reads: [{ kind: "entry", key: "x", present: false }],
  });
});
