import { clusterType, createXdsServer, listenerType, type XdsEvent } from "@istiod/xds-server";
import { EnvoyClient, fakeResource, GroupSource, idle, XdsClient } from "@istiod/xds-server/testing";
import fc from "fast-check";
import { expect, it, test } from "vitest";
import { onEach, variants } from "./harness.js";

onEach(["memory"], (variant) => {
  const connected = async (source: GroupSource, events: XdsEvent[] = []) => {
    const server = createXdsServer(source, { observe: (event) => events.push(event) });
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

  it("a change that names clients reads the named types of these clients only", async () => {
    const source = new GroupSource();
    const events: XdsEvent[] = [];
    const { server, clients } = await connected(source, events);
    source.set(clusterType, { b: "1" });
    await idle();
    expect(source.asked).toEqual(["b Cluster"]);
    expect(events.filter(({ kind }) => kind === "pushStart")).toMatchObject([{ nodeId: "b-1" }]);
    expect(events.filter(({ kind }) => kind === "push")).toMatchObject([{ nodeId: "b-1", typeUrl: clusterType }]);
    source.asked.length = 0;
    source.set(listenerType, {});
    await idle();
    expect(source.asked).toEqual([]);
    clients.forEach((client) => client.close());
    await server.close({ graceMs: 0 });
  });

  it("a client whose read failed is read again after the next change, whichever clients that names", async () => {
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
  "law: clients converge to the state of a source that names affected clients, in both variants",
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
        // Failed reads are repeated after the next change.
        source.set(clusterType, {});
        for (const envoy of envoys) await envoy.settled();
        envoys.forEach((envoy, i) => {
          const group = ["a", "a", "b", "c"][i >> 1] ?? "";
          for (const type of [clusterType, listenerType]) {
            const text = last.get(`${group} ${type}`);
            const expected =
              text === undefined ? {} : { common: fakeResource("common"), own: fakeResource("own", text) };
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
