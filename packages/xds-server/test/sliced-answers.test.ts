import { setImmediate as immediate } from "node:timers/promises";
import { type Resource, ResourceSet } from "@istiod/resources";
import { type Clock, monotonicClock } from "@istiod/runtime";
import {
  clusterType,
  createXdsServer,
  endpointType,
  staticSource,
  type StaticClient,
  type StaticSource,
  type XdsServer,
} from "@istiod/xds-server";
import { fakeResource, type ReceivedResponse, XdsClient } from "@istiod/xds-server/testing";
import fc from "fast-check";
import { afterEach, describe, expect, it, test } from "vitest";
import { sliceLookups, sliceNames } from "../src/sliced.js";
import { type Variant, variants } from "./harness.js";

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of cleanUp.splice(0).reverse()) await end();
});

/** A clock by which every slice takes the whole time of its turn. */
function slowClock(): Clock {
  let now = 0;
  return { now: () => (now += 10), after: monotonicClock.after.bind(monotonicClock) };
}

/** A source that also looks up names outside its sets. */
interface LookupSource extends StaticSource {
  /** Content of the resources outside the sets, by name. */
  readonly outside: Map<string, string>;
  /** Names that were looked up and that no stream has dropped since. */
  readonly followed: Set<string>;
  lookups: number;
}

function lookupSource(endpoints: readonly Resource[], outside: Iterable<readonly [string, string]> = []): LookupSource {
  const source = staticSource({ [endpointType]: endpoints, [clusterType]: [fakeResource("cluster")] });
  return Object.assign(source, {
    outside: new Map(outside),
    followed: new Set<string>(),
    lookups: 0,
    lookup(this: LookupSource, _client: StaticClient, _typeUrl: string, name: string) {
      this.lookups++;
      this.followed.add(name);
      const content = this.outside.get(name);
      return content === undefined ? undefined : fakeResource(name, content);
    },
    unsubscribed(this: LookupSource, _client: StaticClient, _typeUrl: string, name: string) {
      this.followed.delete(name);
    },
  });
}

function serverOf(source: StaticSource): XdsServer {
  const server = createXdsServer(source, { clock: slowClock() });
  cleanUp.push(() => server.close({ graceMs: 0 }));
  return server;
}

function clientOf(
  server: XdsServer,
  variant: Variant,
  onResponse: (response: ReceivedResponse) => void = () => undefined,
) {
  const client = new XdsClient(server, { variant, onResponse });
  client.ended.catch(() => undefined);
  cleanUp.push(() => client.close());
  return client;
}

const numbered = (count: number, prefix = "name"): string[] => Array.from({ length: count }, (_, i) => `${prefix}${i}`);

const setOfOne = (resource: Resource): ResourceSet => ResourceSet.of([resource]);

/** Runs turns of the event loop until a condition holds, and returns the largest increase of a count in one turn. */
async function largestIncrease(count: () => number, until: () => boolean): Promise<number> {
  let largest = 0;
  for (let turns = 0; !until(); turns++) {
    if (turns > 5000) throw new Error("not after 5,000 turns of the event loop");
    const before = count();
    await immediate();
    largest = Math.max(largest, count() - before);
  }
  return largest;
}

describe.each(variants)("a long response over %s", (variant) => {
  it("looks up a bounded number of names in a turn of the event loop", async () => {
    const names = numbered(10 * sliceLookups);
    const source = lookupSource(
      [],
      names.map((name) => [name, "1"]),
    );
    const client = clientOf(serverOf(source), variant);
    client.subscribe(endpointType, names);
    // One slice of the stream and one more when it starts.
    const largest = await largestIncrease(
      () => source.lookups,
      () => client.responses.length > 0,
    );
    expect(largest).toBeLessThanOrEqual(2 * sliceLookups);
    expect(source.lookups).toBe(names.length);
    expect(client.responses[0]?.resources.length).toBe(names.length);
  });

  it("looks up fewer names in a turn if each takes long", async () => {
    const names = numbered(200);
    const source = lookupSource(
      [],
      names.map((name) => [name, "1"]),
    );
    const lookup = source.lookup!.bind(source);
    source.lookup = (...args) => {
      for (const end = performance.now() + 2; performance.now() < end;);
      return lookup(...args);
    };
    const client = clientOf(serverOf(source), variant);
    client.subscribe(endpointType, names);
    const largest = await largestIncrease(
      () => source.lookups,
      () => client.responses.length > 0,
    );
    expect(largest).toBeLessThanOrEqual(8);
    expect(client.responses[0]?.resources.length).toBe(names.length);
  });

  it("encodes a bounded number of resources in a turn of the event loop", async () => {
    const names = numbered(8 * sliceNames);
    let encoded = new Set<string>();
    const resources = names.map((name): Resource => {
      const { version, bytes } = fakeResource(name, "x".repeat(40));
      return {
        name,
        version,
        get bytes() {
          encoded.add(name);
          return bytes;
        },
      };
    });
    const client = clientOf(serverOf(lookupSource(resources)), variant);
    client.subscribe(endpointType, names.slice(1));
    let largest = 0;
    await largestIncrease(
      () => 0,
      () => {
        largest = Math.max(largest, encoded.size);
        encoded = new Set();
        return client.responses.length > 0;
      },
    );
    expect(largest).toBeGreaterThan(0);
    expect(largest).toBeLessThanOrEqual(2 * sliceNames);
    expect(client.responses[0]?.resources.length).toBe(names.length - 1);
  });

  it.each([
    ["one set", (resources: readonly Resource[]) => ResourceSet.of(resources)],
    ["a union of small sets", (resources: readonly Resource[]) => ResourceSet.union(resources.map(setOfOne))],
  ])("compares and hashes a bounded number of resources of %s in a turn of the event loop", async (_, setOf) => {
    const names = numbered(8 * sliceNames);
    let read = new Set<string>();
    const resourcesOf = (content: string): Resource[] =>
      names.map((name) => {
        const { version, bytes } = fakeResource(name, content);
        return {
          name,
          bytes,
          get version() {
            read.add(name);
            return version;
          },
        };
      });
    const source = lookupSource([]);
    const client = clientOf(serverOf(source), variant);
    for (const [responses, content] of ["1", "2"].entries()) {
      source.set({ [endpointType]: setOf(resourcesOf(content)) });
      if (responses === 0) client.subscribe(endpointType, names.slice(1));
      else client.ack(client.responses[0] as ReceivedResponse);
      read = new Set();
      let largest = 0;
      await largestIncrease(
        () => 0,
        () => {
          largest = Math.max(largest, read.size);
          read = new Set();
          return client.responses.length > responses;
        },
      );
      expect(largest).toBeGreaterThan(0);
      expect(largest).toBeLessThanOrEqual(2 * sliceNames);
      expect(client.responses[responses]?.resources.length).toBe(names.length - 1);
    }
  });

  it("has resources outside the set of one state only, even if a change comes in between", async () => {
    const names = numbered(8 * sliceLookups);
    const source = lookupSource(
      [],
      names.map((name) => [name, "old"]),
    );
    const client = clientOf(serverOf(source), variant);
    client.subscribe(endpointType, names);
    await largestIncrease(
      () => 0,
      () => source.lookups > 3 * sliceLookups,
    );
    for (const name of names) source.outside.set(name, "new");
    source.set({});
    source.set({ [endpointType]: [fakeResource("another")] });
    await largestIncrease(
      () => 0,
      () => client.responses.length > 0,
    );
    const contents = new Set(client.responses[0]?.resources.map(({ bytes }) => Buffer.from(bytes).toString()));
    expect(contents.size).toBe(
      new Set(names.map((name) => Buffer.from(fakeResource(name, "new").bytes).toString())).size,
    );
    for (const { name, bytes } of client.responses[0]?.resources ?? [])
      expect(Buffer.from(bytes).equals(Buffer.from(fakeResource(name, "new").bytes))).toBe(true);
  });

  it("does not delay the responses of other streams", async () => {
    const names = numbered(20 * sliceLookups);
    const source = lookupSource(
      [],
      names.map((name) => [name, "1"]),
    );
    const server = serverOf(source);
    const client = clientOf(server, variant);
    client.subscribe(endpointType, names);
    await largestIncrease(
      () => 0,
      () => source.lookups > 0,
    );
    const other = clientOf(server, variant);
    other.subscribe(clusterType);
    await largestIncrease(
      () => 0,
      () => other.responses.length > 0,
    );
    expect(client.responses.length).toBe(0);
    await largestIncrease(
      () => 0,
      () => client.responses.length > 0,
    );
  });

  it("is abandoned with its stream, and what was looked up is released", async () => {
    const names = numbered(20 * sliceLookups);
    const source = lookupSource(
      [],
      names.map((name) => [name, "1"]),
    );
    const server = serverOf(source);
    const client = clientOf(server, variant);
    client.subscribe(endpointType, names);
    await largestIncrease(
      () => 0,
      () => source.lookups > 2 * sliceLookups,
    );
    client.close();
    await largestIncrease(
      () => 0,
      () => server.connections().length === 0,
    );
    const { lookups } = source;
    for (let i = 0; i < 10; i++) await immediate();
    expect(source.lookups).toBe(lookups);
    expect(lookups).toBeLessThan(names.length);
    expect(source.followed.size).toBe(0);
  });

  it("is complete before a request that arrives meanwhile is applied", async () => {
    const names = numbered(10 * sliceLookups);
    const source = lookupSource(
      [],
      names.map((name) => [name, "1"]),
    );
    const client = clientOf(serverOf(source), variant);
    client.subscribe(endpointType, names);
    await largestIncrease(
      () => 0,
      () => source.lookups > 0,
    );
    client.unsubscribe(endpointType, names.slice(1));
    const first = await client.accept(endpointType);
    expect(first.resources.length).toBe(names.length);
    if (variant === "sotw") client.unsubscribe(endpointType, names.slice(1));
    await client.settled();
    expect([...source.followed]).toEqual(["name0"]);
  });
});

test(
  "law: after random changes and subscriptions between slices, a client has what the source has",
  { timeout: 120_000 },
  async () => {
    const all = [...numbered(3 * sliceLookups), ...numbered(50, "set")];
    const edit = fc.record({
      turns: fc.nat(12),
      what: fc.constantFrom("outside", "set", "subscribe", "unsubscribe", "reconnect"),
      from: fc.nat(all.length),
      count: fc.nat(all.length),
    });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...variants), fc.array(edit, { maxLength: 12 }), async (variant, edits) => {
        const source = lookupSource(
          numbered(50, "set").map((name) => fakeResource(name, "0")),
          all.slice(0, 700).map((name) => [name, "0"]),
        );
        const server = createXdsServer(source, { clock: slowClock() });
        const held = new Map<string, string>();
        const received = ({ resources, removed }: ReceivedResponse): void => {
          for (const { name, bytes } of resources) held.set(name, Buffer.from(bytes).toString());
          for (const name of removed) held.delete(name);
        };
        const open = () =>
          new XdsClient(server, {
            variant,
            onResponse: (response) => {
              received(response);
              if (response.typeUrl === endpointType) client.ack(response);
            },
          });
        let client: XdsClient = open();
        let wanted = new Set(all.slice(0, 500));
        client.subscribe(endpointType, [...wanted]);
        for (const [revision, { turns, what, from, count }] of edits.entries()) {
          for (let i = 0; i < turns; i++) await immediate();
          const names = all.slice(from, from + count);
          if (what === "outside") {
            for (const name of names) if (name.startsWith("name")) source.outside.set(name, `${revision}`);
            source.set({ [endpointType]: source.resources(undefined as never, endpointType) ?? [] });
          } else if (what === "set") {
            source.put(endpointType, ...names.slice(0, 100).map((name) => fakeResource(name, `set ${revision}`)));
          } else if (what === "subscribe") {
            for (const name of names) wanted.add(name);
            client.subscribe(endpointType, names);
          } else if (what === "unsubscribe" && wanted.size > names.length) {
            for (const name of names) {
              wanted.delete(name);
              held.delete(name);
            }
            client.unsubscribe(endpointType, names);
          } else if (what === "reconnect") {
            client.close();
            held.clear();
            client = open();
            wanted = new Set(all.slice(0, 500));
            client.subscribe(endpointType, [...wanted]);
          }
        }
        await client.settled();
        await client.settled();
        if (variant === "sotw") {
          client.subscribe(endpointType, []);
          await client.settled();
        }
        const set = source.resources(undefined as never, endpointType) ?? ResourceSet.empty;
        for (const name of wanted) {
          const content =
            set.get(name) ?? (source.outside.has(name) ? fakeResource(name, source.outside.get(name)) : undefined);
          expect([name, held.get(name)]).toEqual([name, content && Buffer.from(content.bytes).toString()]);
        }
        client.close();
        await server.close({ graceMs: 0 });
      }),
      { numRuns: 40 },
    );
  },
);
