import { Code } from "@connectrpc/connect";
import { type Resource, ResourceSet } from "@istiod/resources";
import {
  clusterType,
  endpointType,
  listenerType,
  routeType,
  secretType,
  staticSource,
  type StaticSource,
  type StreamLimits,
} from "@istiod/xds-server";
import { fakeResource } from "@istiod/xds-server/testing";
import { expect, it } from "vitest";
import { onEach, setup } from "./harness.js";

const unknownType = (i: number): string => `type.googleapis.com/example.Type${i}`;
const numbered = (count: number, prefix = "unknown"): string[] => Array.from({ length: count }, (_, i) => prefix + i);
const limited = (limits: StreamLimits) => ({ limits: { unauthenticated: limits } });

/** A source that also serves resources outside its sets, and records what is looked up and released. */
function lookupSource(): StaticSource & { readonly lookups: string[]; readonly released: string[]; found: Resource[] } {
  const lookups: string[] = [];
  const released: string[] = [];
  return Object.assign(staticSource({ [endpointType]: [] }), {
    lookups,
    released,
    found: [] as Resource[],
    lookup(this: { found: Resource[] }, _client: unknown, _typeUrl: string, name: string) {
      lookups.push(name);
      return this.found.find((each) => each.name === name);
    },
    unsubscribed: (_client: unknown, _typeUrl: string, name: string) => void released.push(name),
  });
}

onEach(["memory", "http2"], (variant, transport) => {
  it("a request of a type that the source does not serve is answered without a subscription", async () => {
    const source = Object.assign(staticSource({ [clusterType]: [fakeResource("a")] }), {
      serves: (typeUrl: string) => typeUrl === clusterType || typeUrl === listenerType,
    });
    const { client, server, events } = await setup(variant, transport, {}, {}, source);
    const c = client();
    c.subscribe(unknownType(1), ["a"]);
    c.subscribe(clusterType);
    expect((await c.next(clusterType)).names).toEqual(["a"]);
    c.subscribe(listenerType);
    expect((await c.next(listenerType)).names).toEqual([]);
    expect(await c.next(unknownType(1))).toMatchObject({ names: [], removed: [] });
    expect(events.filter(({ kind }) => kind === "ignored")).toMatchObject([{ typeUrl: unknownType(1) }]);
    expect(server.connections()[0]?.subscriptions.map(({ typeUrl }) => typeUrl)).toEqual([clusterType, listenerType]);
  });

  it("a stream with too many unknown types is ended, but not with many requests of the same", async () => {
    const source = Object.assign(staticSource(), { serves: () => false });
    const { client, events } = await setup(variant, transport, {}, limited({ types: 3 }), source);
    const c = client();
    for (let i = 0; i < 12; i++) c.subscribe(unknownType(i % 3), [`a${i}`]);
    c.subscribe(unknownType(3), ["a"]);
    expect(await c.ended).toMatchObject({
      code: Code.ResourceExhausted,
      rawMessage: "more than 3 unknown resource types",
    });
    expect(events.filter(({ kind }) => kind === "ignored").length).toBe(12);
  });

  it("a stream with too many types is ended, and another one is not", async () => {
    const source = Object.assign(staticSource({ [clusterType]: [fakeResource("a")] }), { serves: () => true });
    const { client } = await setup(variant, transport, {}, limited({ types: 3 }), source);
    const [attacker, other] = [client(), client()];
    other.subscribe(clusterType);
    for (let i = 0; i < 4; i++) attacker.subscribe(unknownType(i), ["a"]);
    expect(await attacker.ended).toMatchObject({
      code: Code.ResourceExhausted,
      rawMessage: "more than 3 resource types",
    });
    expect((await other.next(clusterType)).names).toEqual(["a"]);
  });

  it("on-demand types count, too", async () => {
    const { client, server } = await setup(variant, transport, {}, limited({ types: 3 }));
    server.handle((_, typeUrl) => ({ resources: [{ name: "a", typeUrl, bytes: fakeResource("a").bytes }] }));
    const c = client();
    for (let i = 0; i < 4; i++) c.subscribe(unknownType(i), ["a"]);
    expect(await c.ended).toMatchObject({ rawMessage: "more than 3 on-demand types" });
  });

  it("a list of too many names is rejected before it is read", async () => {
    const source = lookupSource();
    const { client } = await setup(variant, transport, {}, limited({ names: 100 }), source);
    const c = client();
    c.subscribe(endpointType, numbered(101));
    expect(await c.ended).toMatchObject({
      code: Code.ResourceExhausted,
      rawMessage: "101 resource names in a request, more than 100",
    });
    expect(source.lookups).toEqual([]);
  });

  it("too many names of all types together end the stream", async () => {
    const { client } = await setup(variant, transport, {}, limited({ names: 100 }));
    const c = client();
    for (const type of [endpointType, routeType, secretType]) c.subscribe(type, numbered(40));
    expect(await c.ended).toMatchObject({ rawMessage: "more than 100 resource names" });
  });

  it("a name of 20,000 bytes does not exist for the client, and its other names do", async () => {
    const { client } = await setup(variant, transport, {
      [routeType]: [fakeResource("a", "1"), fakeResource("b", "1")],
    });
    const c = client();
    const long = "x".repeat(20_000);
    c.subscribe(routeType, ["a", long]);
    expect(await c.accept(routeType)).toMatchObject({ names: ["a"], removed: variant === "delta" ? [long] : [] });
    expect(await c.settled()).toEqual([]);
    c.subscribe(routeType, ["b"]);
    expect((await c.next()).names).toEqual(["b"]);
  });

  it("a name of 20,000 bytes alone, and more than a megabyte of such names", async () => {
    const { client } = await setup(variant, transport, { [routeType]: [fakeResource("a", "1")] });
    const [c, d] = [client(), client()];
    const long = "x".repeat(20_000);
    c.subscribe(routeType, [long]);
    const answers = await c.settled();
    expect(answers.map(({ removed }) => removed)).toEqual(variant === "delta" ? [[long]] : []);
    d.subscribe(
      routeType,
      Array.from({ length: 60 }, (_, n) => `${long}${n}`),
    );
    expect(await d.ended).toMatchObject({ code: Code.ResourceExhausted });
  });

  it.each([clusterType, listenerType])(
    "names of 20,000 bytes alone of a wildcard type are answered (%s)",
    async (type) => {
      const resources = [fakeResource("a", "1"), fakeResource("b", "1")];
      const { client, source } = await setup(variant, transport, { [type]: resources });
      const c = client();
      const long = ["x".repeat(20_000), "y".repeat(20_000)];
      c.subscribe(type, long);
      // The client subscribes to names, and not to everything.
      const removed = variant === "delta" ? long : [];
      expect(await c.accept(type)).toMatchObject({ names: [], removed });
      expect(await c.settled()).toEqual([]);
      source.set({ [type]: [fakeResource("a", "2"), fakeResource("b", "1")] });
      expect(await c.settled()).toEqual([]);
      c.subscribe(type, ["a"]);
      expect(await c.accept(type)).toMatchObject({ names: ["a"], removed: [] });
    },
  );

  it("a wildcard subscription that is followed by names of 20,000 bytes is answered", async () => {
    const { client, source } = await setup(variant, transport, { [clusterType]: [fakeResource("a", "1")] });
    const c = client();
    c.subscribe(clusterType);
    expect((await c.accept(clusterType)).names).toEqual(["a"]);
    const long = "x".repeat(20_000);
    c.subscribe(clusterType, [long]);
    await c.settled();
    source.set({ [clusterType]: [fakeResource("a", "2")] });
    const later = (await c.settled()).flatMap(({ names }) => names);
    // Delta adds names to the wildcard. A list of names replaces it in state of the world.
    expect(later).toEqual(variant === "delta" ? ["a"] : []);
    const d = client();
    d.subscribe(clusterType, ["*", long]);
    expect((await d.accept(clusterType)).names).toEqual(["a"]);
  });

  it("a type URL of 300 bytes is rejected", async () => {
    const { client } = await setup(variant, transport, {});
    const d = client();
    d.subscribe("x".repeat(300));
    expect(await d.ended).toMatchObject({ code: Code.InvalidArgument, rawMessage: "type URL longer than 256 bytes" });
  });

  it("unknown names are limited in memory; names of the set are not", async () => {
    const known = numbered(5000, "known");
    const sets = { [endpointType]: ResourceSet.of(known.map((name) => fakeResource(name))) };
    const { client } = await setup(variant, transport, sets, limited({ unmatchedBytes: 300_000 }));
    const honest = client();
    honest.subscribe(endpointType, [...known.slice(0, 4500), ...numbered(200)]);
    expect((await honest.next(endpointType)).names.length).toBe(4500);
    const attacker = client();
    attacker.subscribe(endpointType, numbered(2000));
    expect(await attacker.ended).toMatchObject({
      code: Code.ResourceExhausted,
      rawMessage: "more than 300000 bytes of resource names without a resource in the client's sets",
    });
    honest.subscribe(endpointType, known.slice(4500));
    expect((await honest.next(endpointType)).names.length).toBeGreaterThanOrEqual(500);
  });

  it("names that a newer set has do not count", async () => {
    const known = numbered(1000, "known");
    const options = limited({ unmatchedBytes: 50_000 });
    const { client, source } = await setup(variant, transport, { [endpointType]: [fakeResource("a")] }, options);
    const c = client();
    c.subscribe(endpointType, ["a"]);
    c.ack(await c.next(endpointType));
    source.set({ [endpointType]: known.map((name) => fakeResource(name)) });
    c.subscribe(endpointType, known);
    let received = await c.next(endpointType);
    // The removal of the old set may be sent first.
    if (received.names.length === 0) received = await c.next(endpointType);
    expect(received.names.length).toBe(1000);
  });

  it.each([
    ["with", lookupSource],
    ["without", () => staticSource({ [endpointType]: [] })],
  ])("names whose resources leave the set do not count (%s lookups)", async (_, newSource) => {
    const known = numbered(1000, "known").map((name) => fakeResource(name));
    const source = newSource();
    source.set({ [endpointType]: known });
    const options = limited({ unmatchedBytes: 100_000, totalUnmatchedBytes: 200_000 });
    const { client } = await setup(variant, transport, {}, options, source);
    const clients = [client(), client(), client()];
    for (const c of clients) {
      c.subscribe(
        endpointType,
        known.map(({ name }) => name),
      );
      c.ack(await c.next(endpointType));
    }
    source.set({ [endpointType]: known.slice(0, 1) });
    for (const c of clients) {
      // State of the world does not tell which endpoints are gone.
      if (variant === "delta") c.ack(await c.next(endpointType));
      c.subscribe(clusterType);
      expect((await c.next(clusterType)).names).toEqual([]);
      c.subscribe(listenerType);
      expect((await c.next(listenerType)).names).toEqual([]);
    }
    source.set({ [endpointType]: known });
    for (const c of clients) expect((await c.next(endpointType)).names.length).toBeGreaterThanOrEqual(999);
  });

  it("other versions of the set's resources do not count", async () => {
    const names = numbered(1000, "known");
    const sets = { [routeType]: names.map((name) => fakeResource(name)) };
    const { client } = await setup(variant, transport, sets, limited({ unmatchedBytes: 100_000 }));
    const c = client();
    c.subscribe(routeType, names, Object.fromEntries(names.map((name) => [name, "an older version"])));
    expect((await c.next(routeType)).names.length).toBe(1000);
  });

  it("resources outside the set count with their bytes", async () => {
    const source = lookupSource();
    source.found = numbered(40).map((name) => fakeResource(name, "x".repeat(10_000)));
    const { client } = await setup(variant, transport, {}, limited({ unmatchedBytes: 100_000 }), source);
    const c = client();
    c.subscribe(endpointType, numbered(40));
    expect(await c.ended).toMatchObject({ code: Code.ResourceExhausted });
    expect(source.lookups.length).toBeLessThan(15);
  });

  it("authenticated clients have limits of their own", async () => {
    const source = Object.assign(staticSource({ [endpointType]: [] }), { identity: () => "spiffe://td/ns/a/sa/b" });
    const limits = { unauthenticated: { unmatchedBytes: 10_000 }, authenticated: { unmatchedBytes: 2_000_000 } };
    const { client } = await setup(variant, transport, {}, { limits }, source);
    const c = client();
    c.subscribe(endpointType, numbered(1000));
    c.subscribe(clusterType);
    expect((await c.next(clusterType)).names).toEqual([]);
  });

  it("the total of unknown names ends the latest stream of the address", async () => {
    const options = limited({ totalUnmatchedBytes: 1_500_000 });
    const { client } = await setup(variant, transport, { [endpointType]: [], [clusterType]: [] }, options);
    const [first, second] = [client(), client()];
    for (const c of [first, second]) {
      c.subscribe(endpointType, numbered(1000));
      c.subscribe(clusterType);
      if (c === first) expect((await c.next(clusterType)).names).toEqual([]);
    }
    expect(await second.ended).toMatchObject({ code: Code.ResourceExhausted });
    first.subscribe(listenerType);
    expect((await first.next(listenerType)).names).toEqual([]);
  });

  it("a request looks up its own names only", async () => {
    const source = lookupSource();
    source.found = [...numbered(500), "one", "more"].map((name) => fakeResource(name));
    const { client } = await setup(variant, transport, {}, {}, source);
    const c = client();
    c.subscribe(endpointType, numbered(500));
    c.ack(await c.next(endpointType));
    expect(source.lookups.length).toBe(500);
    c.subscribe(endpointType, ["one"]);
    c.ack(await c.next(endpointType));
    c.subscribe(endpointType, ["more"]);
    c.ack(await c.next(endpointType));
    expect(source.lookups.slice(500)).toEqual(["one", "more"]);
    source.found = source.found.map((each) => (each.name === "unknown7" ? fakeResource("unknown7", "2") : each));
    source.set({ [endpointType]: [] });
    expect((await c.next(endpointType)).names).toContain("unknown7");
    expect(source.lookups.length).toBeGreaterThanOrEqual(502 + 502);
  });

  it("names that a client unsubscribes from are released", async () => {
    const source = lookupSource();
    source.found = numbered(3).map((name) => fakeResource(name));
    const { client } = await setup(variant, transport, {}, {}, source);
    const c = client();
    c.subscribe(endpointType, numbered(3));
    c.ack(await c.next(endpointType));
    c.unsubscribe(endpointType, ["unknown0", "unknown1"]);
    c.subscribe(clusterType);
    await c.next(clusterType);
    expect(source.released).toEqual(["unknown0", "unknown1"]);
  });

  it("an error message of 1 MB is kept and searched in part", async () => {
    const { client, events } = await setup(variant, transport, { [clusterType]: [fakeResource("a")] });
    const c = client();
    c.subscribe(clusterType);
    const { nonce } = await c.next(clusterType);
    c.send({ typeUrl: clusterType, nonce, error: "x".repeat(1_000_000) });
    c.subscribe(listenerType);
    await c.next(listenerType);
    const [nack] = events.filter((event) => event.kind === "nack");
    expect(nack?.error.message.length).toBe(4096);
  });
});

it("wildcards in long lists take no longer than the lists", async () => {
  const { client } = await setup("delta", "memory", { [clusterType]: [fakeResource("a")] });
  const c = client();
  c.subscribe(clusterType, ["b"]);
  await c.next(clusterType);
  const wildcards = Array<string>(100_000).fill("*");
  c.send({ typeUrl: clusterType, names: wildcards, unsubscribe: [...numbered(100_000), "*"] });
  c.subscribe(listenerType);
  expect((await c.next(listenerType)).names).toEqual([]);
});
