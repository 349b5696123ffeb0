import { collection, Database, fact, index, query, type Fact, type QueryContext, type View } from "@istiod/incremental";
import { heapBytes, least, milliseconds, print, type Figure } from "./measure.js";

interface Client {
  readonly name: string;
  readonly namespace: string;
}
interface Service {
  readonly host: string;
  readonly port: number;
}
interface Rule {
  readonly host: string;
  /** By namespace of the client; empty where it is the same for all. */
  readonly timeouts: { readonly [namespace: string]: number };
}

const clusterCount = 1000;
const clientCount = 500;
const classCount = 20;

const services = collection<Service>("Service");
const rules = collection<Rule>("Rule");
const unread = collection<number>("Unread");
const rulesByHost = index(rules, "byHost", (rule) => [rule.host]);
const namespace = fact("namespace", (client: Client) => client.namespace);

const trafficPolicy = query("trafficPolicy", (q, host: string) => {
  const found = q.read(rulesByHost, host);
  if (found.every((rule) => Object.keys(rule.timeouts).length === 0)) return { timeout: 1 };
  const from = q.ask(namespace);
  return { timeout: found.find((rule) => from in rule.timeouts)?.timeouts[from] ?? 1 };
});
const cluster = query("cluster", (q, host: string) => {
  const service = q.read(services, host);
  const policy = q.call(trafficPolicy, host);
  return { name: `outbound|${service?.port}||${host}`, port: service?.port, timeout: policy.timeout };
});
const clusters = query("clusters", (q) => q.keys(services).map((host) => q.call(cluster, host)));

const namespaces = Array.from({ length: classCount }, (_, i) => `ns-${i}`);
const timeouts = Object.fromEntries(namespaces.map((name, i) => [name, i]));
const hosts = Array.from({ length: clusterCount }, (_, i) => `svc-${i}.shop.svc.cluster.local`);

function mesh(): { db: Database<Client>; views: View<Client>[] } {
  const db = new Database<Client>();
  db.commit((tx) => {
    for (const host of hosts) {
      tx.set(services, host, { host, port: 80 });
      tx.set(rules, host, { host, timeouts });
    }
  });
  const views = Array.from({ length: clientCount }, (_, i) =>
    db.view({ name: `pod-${i}`, namespace: namespaces[i % classCount] as string }),
  );
  return { db, views };
}

function pull(views: readonly View<Client>[]): Set<unknown> {
  const results = new Set<unknown>();
  for (const view of views) results.add(view.call(clusters));
  return results;
}

function fleet(): Figure[] {
  for (let i = 0; i < 3; i++) pull(mesh().views);
  let made = mesh();
  const cold = least(
    5,
    () => pull(made.views),
    () => (made = mesh()),
  );
  const { db, views } = made;
  const { memos } = db.stats();
  const changeOne = (round: number): void => {
    db.commit((tx) =>
      tx.set(services, hosts[round * 7] as string, { host: hosts[round * 7] as string, port: 9000 + round }),
    );
  };
  const changed = least(21, () => pull(views), changeOne);
  const commit = least(21, () =>
    db.commit((tx) => tx.set(services, hosts[3] as string, { host: "x", port: Math.random() })),
  );
  pull(views);
  const untouched = least(
    21,
    () => pull(views),
    (round) => db.commit((tx) => tx.set(unread, "x", round)),
  );
  const before = db.stats().recomputations;
  db.commit((tx) => tx.set(unread, "x", -1));
  pull(views);
  const reruns = db.stats().recomputations - before;
  const apart = pull(views).size;
  db.commit((tx) => {
    for (const host of hosts) tx.set(rules, host, { host, timeouts: {} });
  });
  const merged = least(1, () => pull(views));
  return [
    {
      what: `memos of ${clusterCount} clusters x ${clientCount} clients in ${classCount} classes`,
      value: memos,
      unit: "",
    },
    { what: "all clients, cold", value: cold, unit: "ms" },
    { what: "commit of one changed service", value: commit * 1000, unit: "µs" },
    { what: "all clients after one changed service", value: changed, unit: "ms" },
    { what: "all clients after a change that nothing reads", value: untouched * 1000, unit: "µs" },
    { what: "queries run after a change that nothing reads", value: reruns, unit: "" },
    { what: "distinct results while the namespace matters", value: apart, unit: "" },
    { what: "all clients after every rule stopped naming namespaces", value: merged, unit: "ms" },
    { what: "distinct results then", value: pull(views).size, unit: "" },
  ];
}

const numbers = collection<number>("Number");
const cell = query("cell", (q, key: string) => q.read(numbers, key) ?? 0);
const scopedCell = query("scopedCell", (q, key: string) => (q.ask(namespace) === "" ? 1 : q.call(cell, key)));

/** Bytes of the records of memos whose results are small integers, so that no result is counted. */
function bytes(): Figure[] {
  const keys = Array.from({ length: 20_000 }, (_, i) => `key-${i}`);
  const db = new Database<Client>();
  db.commit((tx) => keys.forEach((key, i) => tx.set(numbers, key, i)));
  const view = db.view({ name: "", namespace: "a" });
  const roots = query("roots", (q) => keys.reduce((sum, key) => sum + q.call(scopedCell, key), 0));
  const empty = heapBytes();
  view.call(roots);
  const first = heapBytes();
  const memos = db.stats().memos;
  const others = Array.from({ length: 19 }, (_, i) => db.view({ name: "", namespace: `b${i}` }));
  for (const other of others) other.call(roots);
  const all = heapBytes();
  const more = db.stats().memos - memos;
  return [
    { what: "bytes a memo: one class of clients, a memo for each argument", value: (first - empty) / memos, unit: "B" },
    { what: "bytes a memo: each further class of clients", value: (all - first) / more, unit: "B" },
    { what: "bytes a memo: estimate of stats()", value: db.stats().bytes / db.stats().memos, unit: "B" },
  ];
}

/** Nanoseconds a read, in the second run of a query that reads 5,000 times, and in the first. */
function reads(): Figure[] {
  const count = 5000;
  const keys = Array.from({ length: count }, (_, i) => `key-${i}`);
  const facts = Array.from({ length: 50 }, (_, i) =>
    fact(`fact-${i}`, (client: Client) => client.namespace.length > i),
  );
  const figures: Figure[] = [];
  const time = (what: string, body: (q: QueryContext) => number, clients = 1): void => {
    const root = query("root", (q) => {
      q.read(unread, "again");
      return body(q);
    });
    const db = new Database<Client>();
    db.commit((tx) => keys.forEach((key, i) => tx.set(numbers, key, i)));
    const views = Array.from({ length: clients }, (_, i) => db.view({ name: "", namespace: "n".repeat(i % 50) }));
    const first = milliseconds(() => views[0]?.call(root));
    for (const view of views) view.call(root);
    const again = least(
      200,
      () => views[0]?.call(root),
      (round) => db.commit((tx) => tx.set(unread, "again", round)),
    );
    figures.push({ what: `${what}, again`, value: (again * 1e6) / count, unit: "ns" });
    figures.push({ what: `${what}, first time`, value: (first * 1e6) / count, unit: "ns" });
  };
  time("q.read", (q) => keys.reduce((sum, key) => sum + (q.read(numbers, key) ?? 0), 0));
  time("q.call of a valid memo", (q) => keys.reduce((sum, key) => sum + q.call(cell, key), 0));
  time("q.call of a valid memo that asked a fact", (q) => keys.reduce((sum, key) => sum + q.call(scopedCell, key), 0));
  const deep = query("deep", (q, key: string) =>
    facts.reduce((sum, ask) => sum + (q.ask(ask) ? 1 : 0), q.read(numbers, key) ?? 0),
  );
  time(
    "q.call of a valid memo that asked 50 facts, of 50 classes",
    (q) => keys.reduce((sum, key) => sum + q.call(deep, key), 0),
    50,
  );
  figures.push(...lookups(facts));
  time("q.ask", (q) => keys.reduce((sum, _, i) => sum + (q.ask(facts[i % 50] as (typeof facts)[0]) ? 1 : 0), 0));
  return figures;
}

/**
 * Nanoseconds to find the memos of another client's class, 50 facts deep, where the client itself was never asked
 * before.
 */
function lookups(facts: readonly Fact<Client, void, boolean>[]): Figure[] {
  const keys = Array.from({ length: 5000 }, (_, i) => `key-${i}`);
  const name = fact("name", (client: Client) => client.name);
  const deep = query("deep", (q, key: string) =>
    facts.reduce((sum, ask) => sum + (q.ask(ask) ? 1 : 0), q.read(numbers, key) ?? 0),
  );
  const root = query("root", (q) => keys.reduce((sum, key) => sum + q.call(deep, key), q.ask(name).length));
  const figures: Figure[] = [];
  for (const classes of [1, 20]) {
    const db = new Database<Client>();
    const view = (i: number): View<Client> => db.view({ name: `pod-${i}`, namespace: "n".repeat(i % classes) });
    for (let i = 0; i < classes; i++) view(i).call(root);
    let next = classes;
    const best = least(30, () => view(next++).call(root));
    figures.push({
      what: `q.call for a new client: 50 facts, ${classes} classes`,
      value: (best * 1e6) / keys.length,
      unit: "ns",
    });
  }
  return figures;
}

/** A root that reads 5,000 memos, one of which changes. */
function wideRoot(): Figure[] {
  const keys = Array.from({ length: 5000 }, (_, i) => `key-${i}`);
  const db = new Database<Client>();
  db.commit((tx) => keys.forEach((key, i) => tx.set(numbers, key, i)));
  const parity = query("parity", (q, key: string) => q.call(cell, key) % 2);
  const view = db.view({ name: "", namespace: "" });
  const root = query("root", (q) => keys.reduce((sum, key) => sum + q.call(parity, key), 0));
  view.call(root);
  const change =
    (by: number) =>
    (round: number): void => {
      db.commit((tx) => tx.set(numbers, keys[round] as string, (db.read(numbers, keys[round] as string) ?? 0) + by));
    };
  const odd = least(200, () => view.call(root), change(1));
  const even = least(200, () => view.call(root), change(2));
  return [
    { what: "root of 5,000 calls, one of which gives another result", value: odd * 1000, unit: "µs" },
    {
      what: "root of 5,000 calls, one of which runs and gives the same (early cutoff)",
      value: even * 1000,
      unit: "µs",
    },
  ];
}

interface Ref {
  readonly service: string;
  readonly host: string;
}

/** Microseconds a memo of calls whose arguments are records with records in them, nothing computed yet. */
function records(): Figure {
  const names = Array.from({ length: 2000 }, (_, i) => `svc-${i}`);
  const found = query("found", (q, ref: Ref) => ({ port: q.read(numbers, ref.service) ?? 0, host: ref.host }));
  const policy = query("policy", (_q, of: { readonly host: string; readonly from: string }) => of.host.length);
  const subset = query("subset", (q, at: { readonly service: Ref; readonly port: number; readonly subset: string }) => {
    const { host } = q.call(found, at.service);
    return `${at.subset} ${host} ${q.call(policy, { host, from: "shop" })}`;
  });
  const all = query("all", (q) =>
    names.map((service) => {
      const ref = { service, host: `${service}.shop.svc.cluster.local` };
      return ["", "v1", "v2"].map((name) =>
        q.call(subset, { service: ref, port: q.call(found, ref).port, subset: name }),
      );
    }),
  );
  const made = (): View<Client> => {
    const db = new Database<Client>();
    db.commit((tx) => names.forEach((name, i) => tx.set(numbers, name, i % 3)));
    return db.view({ name: "", namespace: "" });
  };
  let view = made();
  const best = least(
    15,
    () => view.call(all),
    () => (view = made()),
  );
  return {
    what: "a memo of a call with records in its argument, cold",
    value: (best * 1000) / (names.length * 5),
    unit: "µs",
  };
}

/** Measures the cost of a map lookup in this run, as a reference for the other figures. */
function yardstick(): Figure {
  const map = new Map(hosts.map((host, i) => [host, i]));
  let sum = 0;
  const best = least(200, () => {
    for (const host of hosts) sum += map.get(host) ?? 0;
  });
  return { what: "yardstick: Map.get of a string", value: sum > 0 ? (best * 1e6) / hosts.length : 0, unit: "ns" };
}

print("engine", [yardstick(), ...bytes(), ...fleet(), ...reads(), records(), ...wideRoot()]);
