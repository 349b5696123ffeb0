import { describe, expect, it } from "vitest";
import { collection, CycleError, Database, fact, index, IncrementalError, query, type Query } from "@istiod/incremental";

interface Client {
  readonly namespace: string;
}
interface Reference {
  readonly host: string;
  readonly port?: number;
}

const services = collection<{ host: string; port: number }>("Service");
const byHost = index(services, "byHost", (service) => [service.host]);
const namespace = fact("namespace", (client: Client) => client.namespace);
const inNamespace = fact("inNamespace", (client: Client, name: string) => client.namespace === name);

describe("a query", () => {
  it("sees inputs, index buckets, key sets and facts, and follows every change of them", () => {
    const summary = query("summary", (q, ref: Reference) => ({
      found: q.read(byHost, ref.host).map((service) => service.port),
      first: q.read(services, "a")?.port,
      keys: q.keys(services),
      hosts: q.keys(byHost),
      all: q.all(services).length,
      from: q.ask(namespace),
      shop: q.ask(inNamespace, "shop"),
    }));
    const db = new Database<Client>();
    const view = db.view({ namespace: "shop" });
    expect(view.call(summary, { host: "h" })).toEqual({ found: [], first: undefined, keys: [], hosts: [], all: 0, from: "shop", shop: true });
    db.commit((tx) => {
      tx.set(services, "b", { host: "h", port: 2 });
      tx.set(services, "a", { host: "h", port: 1 });
    });
    const expected = { found: [1, 2], first: 1, keys: ["a", "b"], hosts: ["h"], all: 2, from: "shop", shop: true };
    const result = view.call(summary, { host: "h" });
    expect(result).toEqual(expected);
    expect(view.call(summary, { port: undefined as never, host: "h" })).toBe(result);
  });

  it("that needs itself fails with the cycle, named", () => {
    const a: Query<number, number> = query("a", (q, n: number): number => q.call(b, n));
    const b: Query<number, number> = query("b", (q, n: number): number => q.call(a, n) + 1);
    const db = new Database();
    const view = db.view(undefined);
    expect(() => view.call(b, 1)).toThrow(CycleError);
    expect(() => view.call(b, 1)).toThrow("cycle: a(1) → b(1) → a(1)");
  });

  it("may not write", () => {
    const db = new Database();
    const writer = query("writer", () => db.commit((tx) => tx.delete(services, "x")).revision);
    expect(() => db.view(undefined).call(writer)).toThrow(IncrementalError);
  });
});
