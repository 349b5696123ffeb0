import { describe, expect, it } from "vitest";
import { collection, Database, fact, index, query, type Query, type QueryContext } from "@istiod/incremental";

interface Client {
  readonly namespace: string;
  readonly labels?: { readonly [name: string]: string };
}

const numbers = collection<number>("Number");
const namespace = fact("namespace", (client: Client) => client.namespace);

/** A query that counts its runs. */
function counted<A, R>(name: string, compute: (q: QueryContext, arg: A) => R): Query<A, R> & { runs: number } {
  const made = {
    runs: 0,
    ...query(name, (q, arg: A) => {
      made.runs++;
      return compute(q, arg);
    }),
  };
  return made;
}

function set(db: Database<Client>, key: string, value: number): void {
  db.commit((tx) => tx.set(numbers, key, value));
}

const shop: Client = { namespace: "shop" };
const bank: Client = { namespace: "bank" };

describe("a query", () => {
  it("does not run again while nothing that it read has changed", () => {
    const db = new Database<Client>();
    set(db, "a", 1);
    const double = counted("double", (q, key: string) => (q.read(numbers, key) ?? 0) * 2);
    const view = db.view(shop);
    expect(view.call(double, "a")).toBe(2);
    set(db, "b", 5);
    expect(view.call(double, "a")).toBe(2);
    expect(double.runs).toBe(1);
    set(db, "a", 2);
    expect(view.call(double, "a")).toBe(4);
    expect(double.runs).toBe(2);
  });

  it("does not run again if a call below ran with an equal result, which stays the same object", () => {
    const db = new Database<Client>();
    set(db, "a", 1);
    const sign = counted("sign", (q) => ({ positive: (q.read(numbers, "a") ?? 0) > 0 }));
    const text = counted("text", (q) => [q.call(sign).positive ? "+" : "-"]);
    const view = db.view(shop);
    const before = view.call(text);
    set(db, "a", 2);
    expect(view.call(text)).toBe(before);
    expect([sign.runs, text.runs]).toEqual([2, 1]);
  });

  it("depends on a key that it found absent", () => {
    const db = new Database<Client>();
    const present = counted("present", (q) => q.read(numbers, "a") !== undefined);
    const view = db.view(shop);
    expect(view.call(present)).toBe(false);
    set(db, "b", 1);
    expect(view.call(present)).toBe(false);
    expect(present.runs).toBe(1);
    set(db, "a", 1);
    expect(view.call(present)).toBe(true);
    db.commit((tx) => tx.delete(numbers, "a"));
    expect(view.call(present)).toBe(false);
    expect(present.runs).toBe(3);
  });

  it("depends only on what its last run read", () => {
    const db = new Database<Client>();
    set(db, "which", 0);
    const chosen = counted("chosen", (q) => q.read(numbers, q.read(numbers, "which") === 0 ? "a" : "b"));
    const view = db.view(shop);
    view.call(chosen);
    set(db, "which", 1);
    view.call(chosen);
    set(db, "a", 7);
    expect(view.call(chosen)).toBe(undefined);
    expect(chosen.runs).toBe(2);
    set(db, "b", 8);
    expect(view.call(chosen)).toBe(8);
  });

  it("treats equal arguments as one, independent of the order of properties", () => {
    const db = new Database<Client>();
    const port = counted("port", (_q, ref: { host: string; port?: number }) => ref.port ?? 80);
    const view = db.view(shop);
    view.call(port, { host: "h", port: 1 });
    view.call(port, { port: 1, host: "h" });
    expect(port.runs).toBe(1);
    view.call(port, { host: "h" });
    expect(port.runs).toBe(2);
  });

  it("identifies arguments and compares results by its options", () => {
    const db = new Database<Client>();
    const near = query("near", (q, of: Map<string, number>) => [q.read(numbers, "a") ?? 0, of.size], {
      key: (of) => String(of.size),
      equals: ([a], [b]) => Math.abs((a ?? 0) - (b ?? 0)) < 1,
    });
    const view = db.view(shop);
    const before = view.call(near, new Map([["x", 1]]));
    expect(view.call(near, new Map([["y", 2]]))).toBe(before);
    set(db, "a", 0.5);
    expect(view.call(near, new Map([["x", 1]]))).toBe(before);
    set(db, "a", 3);
    expect(view.call(near, new Map([["x", 1]]))).toEqual([3, 1]);
  });

  it("memoizes an error, and recovers when an input changes", () => {
    const db = new Database<Client>();
    const strict = counted("strict", (q, key: string) => {
      const value = q.read(numbers, key);
      if (value === undefined) throw new Error(`${key} is missing`);
      return value;
    });
    const lenient = counted("lenient", (q) => {
      try {
        return q.call(strict, "a");
      } catch (error) {
        return (error as Error).message;
      }
    });
    const view = db.view(shop);
    expect(view.call(lenient)).toBe("a is missing");
    const thrown = [0, 1].map(() => {
      try {
        return view.call(strict, "a");
      } catch (error) {
        return error;
      }
    });
    expect(thrown[0]).toBe(thrown[1]);
    set(db, "b", 1);
    expect(view.call(lenient)).toBe("a is missing");
    expect([strict.runs, lenient.runs]).toEqual([1, 1]);
    set(db, "a", 1);
    expect(view.call(lenient)).toBe(1);
  });
});

describe("an index", () => {
  const services = collection<{ readonly host: string; readonly port: number }>("Service");
  const byHost = index(services, "byHost", (service) => [service.host]);

  it("returns its buckets in order of keys, and only changed buckets affect their readers", () => {
    const db = new Database<Client>();
    const ports = counted("ports", (q, host: string) => q.read(byHost, host).map((service) => service.port));
    const hosts = counted("hosts", (q) => q.keys(byHost));
    const view = db.view(shop);
    expect(view.call(ports, "x")).toEqual([]);
    db.commit((tx) => {
      tx.set(services, "c", { host: "x", port: 3 });
      tx.set(services, "a", { host: "x", port: 1 });
      tx.set(services, "b", { host: "y", port: 2 });
    });
    expect(view.call(ports, "x")).toEqual([1, 3]);
    expect(view.call(ports, "y")).toEqual([2]);
    expect(view.call(hosts)).toEqual(["x", "y"]);
    const runs = ports.runs;
    db.commit((tx) => tx.set(services, "b", { host: "y", port: 4 }));
    expect([view.call(ports, "x"), view.call(ports, "y"), view.call(hosts)]).toEqual([[1, 3], [4], ["x", "y"]]);
    expect([ports.runs - runs, hosts.runs]).toEqual([1, 1]);
    db.commit((tx) => {
      tx.set(services, "b", { host: "x", port: 4 });
      tx.set(services, "d", { host: "y", port: 5 });
    });
    expect([view.call(ports, "x"), view.call(ports, "y"), view.call(hosts)]).toEqual([[1, 4, 3], [5], ["x", "y"]]);
    expect(hosts.runs).toBe(1);
    db.commit((tx) => tx.delete(services, "d"));
    expect(view.call(hosts)).toEqual(["x"]);
    expect([db.read(byHost, "x").length, db.keys(byHost), db.all(services).length]).toEqual([3, ["x"], 3]);
  });

  it("returns the keys of a bucket, which changed values do not change", () => {
    const db = new Database<Client>();
    const members = counted("members", (q, host: string) => q.members(byHost, host));
    const view = db.view(shop);
    expect(view.call(members, "x")).toEqual([]);
    db.commit((tx) => {
      tx.set(services, "c", { host: "x", port: 3 });
      tx.set(services, "a", { host: "x", port: 1 });
      tx.set(services, "b", { host: "y", port: 2 });
    });
    expect(view.call(members, "x")).toEqual(["a", "c"]);
    const runs = members.runs;
    db.commit((tx) => {
      tx.set(services, "a", { host: "x", port: 7 });
      tx.set(services, "d", { host: "y", port: 5 });
    });
    expect([view.call(members, "x"), members.runs - runs]).toEqual([["a", "c"], 0]);
    db.commit((tx) => tx.set(services, "a", { host: "y", port: 7 }));
    expect([view.call(members, "x"), view.call(members, "y")]).toEqual([["c"], ["a", "b", "d"]]);
    db.commit((tx) => tx.delete(services, "c"));
    expect(view.call(members, "x")).toEqual([]);
    db.commit((tx) => tx.set(services, "c", { host: "x", port: 1 }));
    expect(view.call(members, "x")).toEqual(["c"]);
  });

  it("keeps its order over many edits in one commit", () => {
    const db = new Database<Client>();
    const keys = query("keys", (q) => q.keys(services));
    const view = db.view(shop);
    const names = Array.from({ length: 100 }, (_, i) => `k${(i * 37) % 100}`);
    for (const batch of [names.slice(0, 10), names.slice(10, 60), names.slice(60)]) {
      db.commit((tx) => batch.forEach((name) => tx.set(services, name, { host: name, port: 1 })));
      expect(view.call(keys)).toEqual([...view.call(keys)].sort());
    }
    db.commit((tx) => names.slice(0, 50).forEach((name) => tx.delete(services, name)));
    expect(view.call(keys)).toEqual(names.slice(50).sort());
  });
});

describe("clients", () => {
  it("with equal answers share the result, regardless of facts that are not asked", () => {
    const db = new Database<Client>();
    set(db, "a", 1);
    const common = counted("common", (q) => [q.read(numbers, "a")]);
    const local = counted("local", (q) => ({ from: q.ask(namespace), common: q.call(common) }));
    const [one, two, other] = [db.view(shop), db.view({ ...shop }), db.view(bank)];
    expect(one.call(local)).toBe(two.call(local));
    expect(other.call(local)).toEqual({ from: "bank", common: [1] });
    expect([common.runs, local.runs]).toEqual([1, 2]);
    set(db, "a", 2);
    expect(one.call(local)).toBe(two.call(local));
    expect(other.call(local).common).toBe(one.call(local).common);
    expect([common.runs, local.runs]).toEqual([2, 4]);
  });

  it("of different classes share the object if their results are equal", () => {
    const db = new Database<Client>();
    const long = query("long", (q) => ({ long: q.ask(namespace).length > 9 }));
    expect(db.view(shop).call(long)).toBe(db.view(bank).call(long));
  });

  it("of many classes share equal results, although many results differ only far from their beginning", () => {
    const db = new Database<Client>();
    const same = Array.from({ length: 60 }, (_, i) => ({ name: `part-${i}`, text: "x".repeat(20) }));
    const long = query("long", (q) => ({
      same,
      last: `${"y".repeat(30)}${Math.floor(Number(q.ask(namespace)) / 2)}${"z".repeat(30)}`,
    }));
    const results = Array.from({ length: 200 }, (_, i) => db.view({ namespace: String(i) }).call(long));
    for (let i = 0; i < 200; i += 2) expect(results[i + 1]).toBe(results[i]);
    expect(new Set(results).size).toBe(100);
    expect(db.view({ namespace: "1" }).call(long)).toBe(results[0]);
  });

  it("merge into one class when the query stops asking the distinguishing fact, and split when it asks again, without a new object", () => {
    const db = new Database<Client>();
    set(db, "divide", 1);
    const result = counted("result", (q) => ({ from: q.read(numbers, "divide") === 1 ? q.ask(namespace) : "all" }));
    const root = counted("root", (q) => [q.call(result)]);
    const [one, other] = [db.view(shop), db.view(bank)];
    expect(one.call(root)).not.toBe(other.call(root));
    expect(db.stats().memos).toBe(4);
    set(db, "divide", 0);
    const merged = one.call(root);
    expect(other.call(root)).toBe(merged);
    expect([result.runs, root.runs]).toEqual([3, 3]);
    set(db, "unread", 0);
    expect(db.stats().memos).toBe(2);
    set(db, "divide", 2);
    expect(one.call(root)).toBe(merged);
    expect(other.call(root)).toBe(merged);
    expect([result.runs, root.runs]).toEqual([4, 3]);
  });

  it("keep equal results by verification alone when a call below starts to ask a fact", () => {
    const db = new Database<Client>();
    const selects = fact("selects", (client: Client, value: string) => client.labels?.["app"] === value);
    const rules = collection<{ readonly app: string }>("Rule");
    const policy = counted("policy", (q) => q.all(rules).filter((rule) => q.ask(selects, rule.app)).length);
    const scoped = counted("scoped", (q) => ({ policy: q.call(policy), from: q.ask(namespace) }));
    const views = [shop, bank].map((client) => db.view({ ...client, labels: { app: "web" } }));
    const before = views.map((view) => view.call(scoped));
    db.commit((tx) => tx.set(rules, "r", { app: "other" }));
    expect(views.map((view) => view.call(scoped))).toEqual(before);
    views.forEach((view, i) => expect(view.call(scoped)).toBe(before[i]));
    expect([policy.runs, scoped.runs]).toEqual([2, 2]);
    db.commit((tx) => tx.set(rules, "s", { app: "web" }));
    expect(views.map((view) => view.call(scoped).policy)).toEqual([1, 1]);
  });
});

describe("a fact", () => {
  it("is computed once for a client, however often it is asked", () => {
    const db = new Database<Client>();
    let runs = 0;
    const upper = fact("upper", (client: Client) => {
      runs++;
      return client.namespace.toUpperCase();
    });
    const twice = query("twice", (q, n: number) => `${q.ask(upper)}${q.ask(upper)}${n}`);
    const view = db.view(shop);
    view.call(twice, 1);
    view.call(twice, 2);
    set(db, "a", 1);
    view.call(twice, 3);
    expect(runs).toBe(1);
  });

  it("that reads inputs is computed again only when they change, for the clients whose answer read them", () => {
    const pods = collection<{ readonly labels: readonly string[] }>("Pod");
    const runs: string[] = [];
    const labelled = fact("labelled", (client: Client, label: string, q) => {
      runs.push(client.namespace);
      return q.read(pods, client.namespace)?.labels.includes(label) ?? false;
    });
    const db = new Database<Client>();
    const root = counted("root", (q) => ({ canary: q.ask(labelled, "canary") }));
    const [one, other] = [db.view(shop), db.view(bank)];
    const before = [one.call(root), other.call(root)];
    expect(before[0]).toBe(before[1]);
    set(db, "a", 1);
    expect([one.call(root), other.call(root)]).toEqual(before);
    expect(runs).toEqual(["shop", "bank"]);
    db.commit((tx) => tx.set(pods, "shop", { labels: ["other"] }));
    expect([one.call(root), other.call(root)]).toEqual(before);
    expect([runs, root.runs]).toEqual([["shop", "bank", "shop"], 1]);
    db.commit((tx) => tx.set(pods, "shop", { labels: ["canary"] }));
    expect([one.call(root), other.call(root)]).toEqual([{ canary: true }, { canary: false }]);
    expect(other.call(root)).toBe(before[1]);
    expect([runs.length, root.runs]).toEqual([4, 2]);
  });

  it("that calls queries depends on the facts that they ask", () => {
    const db = new Database<Client>();
    const limit = fact("limit", (client: Client, _arg: void, q) => (q.read(numbers, client.namespace) ?? 0) > 1);
    const limited = query("limited", (q) => (q.ask(limit) ? "limited" : "free"));
    const state = fact("state", (_client: Client, _arg: void, q) => q.call(limited));
    const root = query("root", (q) => [q.ask(state)]);
    const [one, other] = [db.view(shop), db.view(bank)];
    expect([one.call(root), other.call(root)]).toEqual([["free"], ["free"]]);
    set(db, "shop", 2);
    expect([one.call(root), other.call(root)]).toEqual([["limited"], ["free"]]);
    set(db, "bank", 2);
    expect(other.call(root)).toBe(one.call(root));
  });

  it("may throw; clients with equal errors are of one class", () => {
    const db = new Database<Client>();
    const required = fact("required", (client: Client) => {
      if (client.labels === undefined) throw new Error("no labels");
      return true;
    });
    const root = counted("root", (q) => {
      try {
        return { required: q.ask(required) };
      } catch (error) {
        return { error: (error as Error).message };
      }
    });
    expect(db.view(shop).call(root)).toBe(db.view(bank).call(root));
    expect(root.runs).toBe(1);
    expect(db.view({ ...shop, labels: {} }).call(root)).toEqual({ required: true });
  });
});
