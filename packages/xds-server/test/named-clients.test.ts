import { ResourceSet } from "@istiod/resources";
import {
  clusterType,
  createXdsServer,
  listenerType,
  type ResourceSource,
  type SourceChange,
  type XdsEvent,
} from "@istiod/xds-server";
import { EnvoyClient, XdsClient } from "@istiod/xds-server/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { FakeClock, idle } from "./fake-clock.js";
import { onEach, variants } from "./harness.js";
import { made } from "./resources.js";

interface Member {
  readonly group: string;
}

/** Gives the clients of each group its own resources, and names those of a group that changes; each once, until it is asked for again. */
class GroupSource implements ResourceSource<Member> {
  readonly asked: string[] = [];
  /** The group whose clients cannot be answered. */
  failing = "";
  /** Called whenever something is asked for. */
  onAsk: () => void = () => undefined;
  readonly #sets = new Map<string, ResourceSet>();
  /** What was asked for since it was last named. */
  readonly #known = new Map<Member, Set<string>>();
  #watchers: [(change: SourceChange<Member>) => void, () => void][] = [];
  #revision = 0;

  ready(): boolean {
    return true;
  }

  open({ id }: { readonly id: string }): Member {
    const client = { group: id.split("-")[0] ?? "" };
    this.#known.set(client, new Set());
    return client;
  }

  resources(client: Member, typeUrl: string): ResourceSet {
    this.asked.push(`${client.group} ${typeUrl.split(".").pop() ?? ""}`);
    this.#known.get(client)?.add(typeUrl);
    this.onAsk();
    if (client.group === this.failing) throw new Error("not now");
    return this.#sets.get(`${client.group} ${typeUrl}`) ?? ResourceSet.empty;
  }

  /** Changes what some groups have of a type, as one change. */
  set(typeUrl: string, texts: Readonly<Record<string, string>>): number {
    for (const [, changing] of this.#watchers) changing();
    for (const [group, text] of Object.entries(texts))
      this.#sets.set(`${group} ${typeUrl}`, ResourceSet.of([made("common"), made("own", text)]));
    const clients = new Map<Member, string[]>();
    for (const [client, known] of this.#known)
      if (client.group in texts && known.delete(typeUrl)) clients.set(client, [typeUrl]);
    const revision = ++this.#revision;
    for (const [changed] of this.#watchers) changed({ revision, clients });
    return revision;
  }

  watch(changed: (change: SourceChange<Member>) => void, changing: () => void): () => void {
    this.#watchers.push([changed, changing]);
    return () => (this.#watchers = []);
  }

  close(client: Member): void {
    this.#known.delete(client);
  }
}

onEach(["memory"], (variant) => {
  const connected = async (source: GroupSource, events: XdsEvent[] = [], clock = new FakeClock()) => {
    const server = createXdsServer(source, { observe: (event) => events.push(event), clock });
    const clients = ["a-1", "a-2", "b-1"].map((node) => new XdsClient(server, { variant, node }));
    for (const client of clients) {
      for (const type of [clusterType, listenerType]) {
        client.subscribe(type);
        await client.accept(type);
      }
    }
    await idle();
    source.asked.length = events.length = 0;
    return { server, clients };
  };

  test("a change that names clients asks for the types of these, and for nothing else", async () => {
    const source = new GroupSource();
    const events: XdsEvent[] = [];
    const { server, clients } = await connected(source, events);
    const revision = source.set(clusterType, { b: "1" });
    await idle();
    expect(source.asked).toEqual(["b Cluster"]);
    expect(events.filter(({ kind }) => kind === "turn")).toMatchObject([{ nodeId: "b-1", changes: [revision] }]);
    expect(events.filter(({ kind }) => kind === "push")).toMatchObject([{ nodeId: "b-1", changes: [revision] }]);
    expect(server.unserved()).toBeUndefined();
    source.asked.length = 0;
    source.set(listenerType, {});
    await idle();
    expect(source.asked).toEqual([]);
    clients.forEach((client) => client.close());
    await server.close({ graceMs: 0 });
  });

  test("a client whose turn is still to come is not named again, and its response counts for all changes that it shows", async () => {
    const source = new GroupSource();
    const events: XdsEvent[] = [];
    const { server, clients } = await connected(source, events);
    const [slow] = clients;
    slow?.pause(true);
    const first = source.set(clusterType, { a: "1".repeat(200_000) });
    await idle();
    const second = source.set(clusterType, { a: "2" });
    const elsewhere = source.set(clusterType, { b: "3" });
    const third = source.set(clusterType, { a: "4" });
    const listeners = source.set(listenerType, { a: "5" });
    expect(server.unserved()).toBe(first);
    events.length = 0;
    slow?.pause(false);
    await slow?.settled();
    const shown = events.flatMap((event) =>
      event.kind === "push" && event.nodeId === "a-1" && !event.typeUrl.startsWith("fence")
        ? [[event.typeUrl, event.changes]]
        : [],
    );
    expect(shown).toEqual([
      [clusterType, [second, third]],
      [listenerType, [listeners]],
    ]);
    expect(shown.flat(2)).not.toContain(elsewhere);
    expect(server.unserved()).toBeUndefined();
    clients.forEach((client) => client.close());
    await server.close({ graceMs: 0 });
  });

  test("where there is no time to tell changes apart that wait for a client, its response counts for all of them", async () => {
    const source = new GroupSource();
    const events: XdsEvent[] = [];
    const clock = new FakeClock();
    const { server, clients } = await connected(source, events, clock);
    for (const client of clients.slice(0, 2)) client.pause(true);
    source.set(clusterType, { a: "1".repeat(200_000) });
    await idle();
    const first = source.set(clusterType, { a: "2" });
    source.onAsk = () => clock.advance(60);
    const second = source.set(clusterType, { a: "3" });
    source.onAsk = () => undefined;
    events.length = 0;
    for (const client of clients) client.pause(false);
    for (const client of clients) await client.settled();
    const shown = events.flatMap((event) =>
      event.kind === "push" && event.typeUrl === clusterType ? [event.changes] : [],
    );
    expect(shown).toEqual([
      [first, second],
      [first, second],
    ]);
    clients.forEach((client) => client.close());
    await server.close({ graceMs: 0 });
  });

  test("a client that could not be answered is asked for again after the next change, whoever that names", async () => {
    const source = new GroupSource();
    const { server, clients } = await connected(source);
    source.failing = "b";
    source.set(clusterType, { b: "1" });
    await idle();
    expect(source.asked).toEqual(["b Cluster"]);
    source.failing = "";
    source.set(listenerType, { a: "2" });
    await idle();
    expect(source.asked.slice(1).sort()).toEqual(["a Listener", "a Listener", "b Cluster"]);
    source.asked.length = 0;
    source.set(listenerType, { a: "3" });
    await idle();
    expect(source.asked).toEqual(["a Listener", "a Listener"]);
    clients.forEach((client) => client.close());
    await server.close({ graceMs: 0 });
  });
});

const edit = fc.record({
  typeUrl: fc.constantFrom(clusterType, listenerType),
  texts: fc.dictionary(fc.constantFrom("a", "b", "c"), fc.string({ maxLength: 2 })),
  failing: fc.constantFrom("", "", "a"),
  turns: fc.nat(8),
  who: fc.nat(7),
  then: fc.constantFrom("nothing", "pause", "resume", "reconnect"),
});

test(
  "law: clients end up with what a source has that names those whom it changes, in both variants",
  { timeout: 120_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { maxLength: 14 }), async (edits) => {
        const source = new GroupSource();
        const server = createXdsServer(source);
        const envoys = ["a", "a", "b", "c"].flatMap((group, i) =>
          variants.map((variant) => new EnvoyClient(server, { variant, node: `${group}-${i}` })),
        );
        const last = new Map<string, string>();
        for (const { typeUrl, texts, failing, turns, who, then } of edits) {
          for (let i = 0; i < turns; i++) await new Promise(setImmediate);
          source.failing = failing;
          source.set(typeUrl, texts);
          for (const [group, text] of Object.entries(texts)) last.set(`${group} ${typeUrl}`, text);
          const envoy = envoys[who];
          if (then === "reconnect") envoy?.reconnect();
          else if (then !== "nothing") envoy?.xds.pause(then === "pause");
        }
        source.failing = "";
        for (const envoy of envoys) envoy.xds.pause(false);
        for (const envoy of envoys) await envoy.settled();
        // Whoever could not be answered is asked for after a change that concerns nobody.
        source.set(clusterType, {});
        for (const envoy of envoys) await envoy.settled();
        envoys.forEach((envoy, i) => {
          const group = ["a", "a", "b", "c"][i >> 1] ?? "";
          for (const type of [clusterType, listenerType]) {
            const text = last.get(`${group} ${type}`);
            const expected = text === undefined ? {} : { common: made("common"), own: made("own", text) };
            const has = Object.fromEntries(
              [...envoy.resources(type)].map(([name, { bytes }]) => [name, Buffer.from(bytes).toString()]),
            );
            expect(has).toEqual(
              Object.fromEntries(
                Object.entries(expected).map(([name, { bytes }]) => [name, Buffer.from(bytes).toString()]),
              ),
            );
          }
          envoy.close();
        });
        await server.close({ graceMs: 0 });
      }),
      { numRuns: 150 },
    );
  },
);
