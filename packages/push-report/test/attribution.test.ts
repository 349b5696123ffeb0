import { ChangeAttribution } from "@istiod/push-report";
import {
  type AckEvent,
  clusterType,
  createXdsServer,
  endpointType,
  listenerType,
  type NackEvent,
  type PushEndEvent,
  type PushEvent,
  type PushStartEvent,
  type ResourceSets,
  staticSource,
  type XdsEvent,
  type XdsServerOptions,
} from "@istiod/xds-server";
import { FakeClock } from "@istiod/runtime/testing";
import { fakeEdsCluster, fakeResource, GroupSource, idle, XdsClient } from "@istiod/xds-server/testing";
import { afterEach, describe, expect, it, test } from "vitest";

type Variant = "delta" | "sotw";

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of cleanUp.splice(0).reverse()) await end();
});

/** A server of a static source with attribution. */
function setup(variant: Variant, sets: ResourceSets, options: XdsServerOptions = {}) {
  const events: XdsEvent[] = [];
  const attribution = new ChangeAttribution(options.clock ?? { now: Date.now });
  const { put, set, ...rest } = staticSource(sets);
  const source: typeof rest & { put: typeof put; set: typeof set } = {
    ...rest,
    put: (...args) => (attribution.beforeChange(), put(...args)),
    set: (...args) => (attribution.beforeChange(), set(...args)),
  };
  const server = createXdsServer(source, { observe: (event) => events.push(event), attribution, ...options });
  cleanUp.push(() => server.close({ graceMs: 0 }));
  const client = (): XdsClient => {
    const created = new XdsClient(server, { variant });
    cleanUp.push(() => created.close());
    return created;
  };
  return { client, source, events, attribution };
}

const large = (text: string) => fakeResource("large", text.repeat(200_000));
const of = <K extends XdsEvent["kind"]>(events: readonly XdsEvent[], kind: K, typeUrl = clusterType) =>
  events.filter(
    (event): event is Extract<XdsEvent, { kind: K }> =>
      event.kind === kind && (!("typeUrl" in event) || event.typeUrl === typeUrl),
  );

/** A client that has the clusters and the endpoints of `a`. */
async function withEndpoints(client: XdsClient): Promise<XdsClient> {
  client.subscribe(clusterType);
  await client.accept(clusterType);
  client.subscribe(endpointType, ["a"]);
  await client.accept(endpointType);
  await client.settled();
  return client;
}

describe.each(["delta", "sotw"] as const)("%s", (variant) => {
  const start = {
    [clusterType]: [large("0"), fakeResource("a", "0"), fakeResource("b", "0")],
    [listenerType]: [fakeResource("l", "0")],
  };

  it("a response is attributed to each merged change that it shows, and to no other", async () => {
    const { client, source, events, attribution } = setup(variant, start);
    const slow = client();
    for (const type of [clusterType, listenerType]) {
      slow.subscribe(type);
      await slow.accept(type);
    }
    await slow.settled();
    slow.pause(true);
    const blocking = source.put(clusterType, large("1"));
    await idle();
    const first = source.put(clusterType, fakeResource("a", "1"));
    const listener = source.put(listenerType, fakeResource("l", "1"));
    const equal = source.put(clusterType, fakeResource("b", "0"));
    const second = source.put(clusterType, fakeResource("b", "1"));
    const again = source.put(clusterType, fakeResource("a", "2"));
    expect(attribution.pendingRevision).toBe(blocking);
    events.length = 0;
    slow.pause(false);
    const merged = (await slow.settled()).filter(({ typeUrl }) => typeUrl === clusterType).at(-1);
    expect(of(events, "push")).toMatchObject([{ changes: [first, second, again], revision: again, reason: "change" }]);
    expect(of(events, "push")[0]?.changes).not.toContain(equal);
    expect(of(events, "push", listenerType)).toMatchObject([{ changes: [listener], revision: again }]);
    expect(attribution.pendingRevision).toBeUndefined();
    if (merged) slow.ack(merged);
    await slow.settled();
    expect(of(events, "ack").at(-1)).toMatchObject({ nonce: merged?.nonce, revision: again });
  });

  it("a change that a later one reverted before the push is attributed to neither", async () => {
    const { client, source, events } = setup(variant, start);
    const slow = client();
    slow.subscribe(clusterType);
    await slow.accept(clusterType);
    await slow.settled();
    slow.pause(true);
    source.put(clusterType, large("1"));
    await idle();
    source.put(clusterType, fakeResource("a", "1"));
    const kept = source.put(clusterType, fakeResource("b", "1"));
    source.put(clusterType, fakeResource("a", "0"));
    events.length = 0;
    slow.pause(false);
    await slow.settled();
    expect(of(events, "push").map(({ changes }) => changes)).toEqual([[kept]]);
  });

  it("a change that coincides with a request is attributed to the response that shows it", async () => {
    const { client, source, events } = setup(variant, {
      [clusterType]: [large("0")],
      [endpointType]: [fakeResource("x", "0"), fakeResource("y", "0")],
    });
    const slow = client();
    slow.subscribe(clusterType);
    await slow.accept(clusterType);
    slow.subscribe(endpointType, ["x"]);
    await slow.accept(endpointType);
    await slow.settled();
    slow.pause(true);
    source.put(clusterType, large("1"));
    await idle();
    slow.subscribe(endpointType, ["x", "y"]);
    await idle();
    const change = source.put(endpointType, fakeResource("x", "1"));
    const other = source.put(endpointType, fakeResource("z", "1"));
    events.length = 0;
    slow.pause(false);
    await slow.settled();
    const pushes = of(events, "push", endpointType);
    expect(pushes.flatMap(({ changes }) => changes)).toEqual([change]);
    expect(pushes.every(({ changes }) => !changes.includes(other))).toBe(true);
  });

  it("endpoints that are sent again for a changed cluster are attributed to the cluster's change", async () => {
    const { client, source, events } = setup(variant, {
      [clusterType]: [fakeEdsCluster("a", "0")],
      [endpointType]: [fakeResource("a", "0")],
    });
    const c = await withEndpoints(client());
    events.length = 0;
    const change = source.put(clusterType, fakeEdsCluster("a", "1"));
    await c.settled();
    expect(of(events, "push", endpointType)).toMatchObject([{ changes: [change] }]);
  });

  it("a resource that a client requests soon after a change added it is attributed to that change", async () => {
    const clock = new FakeClock();
    const { client, source, events } = setup(
      variant,
      { [clusterType]: [fakeEdsCluster("a", "0")], [endpointType]: [fakeResource("a", "0")] },
      { clock },
    );
    const c = await withEndpoints(client());
    events.length = 0;
    // The endpoints are there before anybody asks for them.
    const endpoints = source.put(endpointType, fakeResource("b", "0"));
    const other = source.put(endpointType, fakeResource("late", "0"));
    const cluster = source.put(clusterType, fakeEdsCluster("b", "0"));
    await c.accept(clusterType);
    c.subscribe(endpointType, ["a", "b"]);
    await c.accept(endpointType);
    expect(of(events, "push")).toMatchObject([{ changes: [cluster] }]);
    expect(of(events, "push", endpointType)).toMatchObject([{ changes: [endpoints], reason: "request" }]);
    clock.advance(60_000);
    c.subscribe(endpointType, ["a", "b", "late"]);
    await c.accept(endpointType);
    expect(of(events, "push", endpointType).at(-1)?.changes).toEqual([]);
    expect(of(events, "push", endpointType).flatMap(({ changes }) => changes)).not.toContain(other);
  });

  it("first responses have a revision and are attributed to no change", async () => {
    const { client, source, events } = setup(variant, start);
    const revision = source.put(clusterType, fakeResource("a", "1"));
    const c = client();
    c.subscribe(clusterType);
    await c.accept(clusterType);
    await c.settled();
    expect(of(events, "push")).toMatchObject([{ reason: "request", revision, changes: [] }]);
    expect(of(events, "ack")).toMatchObject([{ revision }]);
  });

  it("ACK and NACK are attributed to their own response, even if a later one is in flight", async () => {
    const { client, source, events } = setup(variant, {
      [clusterType]: [fakeResource("a", "0"), fakeResource("b", "0")],
    });
    const c = client();
    c.subscribe(clusterType);
    await c.accept(clusterType);
    await c.settled();
    const firstRevision = source.put(clusterType, fakeResource("a", "1"));
    const first = await c.next(clusterType);
    const secondRevision = source.put(clusterType, fakeResource("a", "2"));
    const second = await c.next(clusterType);
    const thirdRevision = source.put(clusterType, fakeResource("b", "1"));
    const third = await c.next(clusterType);
    events.length = 0;
    c.nack(first, "a: not this");
    c.ack(second);
    c.ack(third);
    c.ack(third);
    await c.settled();
    expect(
      of(events, "nack").map(({ error }: NackEvent) => [
        error.nonce,
        error.revision,
        error.resources,
        Object.keys(error.versions),
      ]),
    ).toEqual([[first.nonce, firstRevision, ["a"], ["a"]]]);
    expect(of(events, "ack").map(({ nonce, revision }: AckEvent) => [nonce, revision])).toEqual([
      [second.nonce, secondRevision],
      [third.nonce, thirdRevision],
    ]);
  });

  it("every change starts a push to every client, and a push is finished once when all responses are handed over", async () => {
    const clock = new FakeClock();
    const { client, source, events } = setup(variant, start, { clock });
    const c = client();
    for (const type of [clusterType, listenerType]) {
      c.subscribe(type);
      await c.accept(type);
    }
    await c.settled();
    events.length = 0;
    const untouched = source.put(clusterType, fakeResource("a", "0"));
    await c.settled();
    expect(of(events, "pushStart")).toMatchObject([{ changes: [untouched] } satisfies Partial<PushStartEvent>]);
    expect(of(events, "pushEnd")).toEqual([]);
    c.pause(true);
    const first = source.put(clusterType, large("1"));
    await idle();
    clock.advance(300);
    const second = source.set({ [clusterType]: [large("2")], [listenerType]: [fakeResource("l", "2")] });
    await idle();
    clock.advance(200);
    events.length = 0;
    c.pause(false);
    await c.settled();
    expect(of(events, "pushStart")).toMatchObject([{ changes: [second], queueMs: 200 }]);
    const finished: PushEndEvent[] = of(events, "pushEnd");
    expect(finished).toMatchObject([{ responses: 3, sinceMs: 500 }]);
    expect(finished[0]?.bytes).toBeGreaterThan(400_000);
    expect(first).toBeLessThan(second);
    expect(of(events, "sent").at(-1)).toBeDefined();
  });
});

test("before a change, only the sets of pending streams are compared", async () => {
  const source = staticSource({ [clusterType]: [fakeResource("a", "0")] });
  let asked = 0;
  const attribution = new ChangeAttribution({ now: Date.now });
  const counting = {
    ...source,
    resources: (client: Parameters<typeof source.resources>[0], type: string) => (
      asked++,
      source.resources(client, type)
    ),
  };
  const pushes: PushEvent[] = [];
  const server = createXdsServer(counting, {
    attribution,
    observe: (event) => event.kind === "push" && event.typeUrl === clusterType && pushes.push(event),
  });
  const c = new XdsClient(server, { variant: "delta" });
  c.subscribe(clusterType);
  await c.accept(clusterType);
  await c.settled();
  asked = 0;
  attribution.beforeChange();
  source.put(clusterType, fakeResource("a", "1"));
  await c.accept(clusterType);
  expect(asked).toBe(1);
  attribution.beforeChange();
  source.put(clusterType, fakeResource("a", "2"));
  attribution.beforeChange();
  source.put(clusterType, fakeResource("a", "3"));
  await c.accept(clusterType);
  expect(asked).toBe(3);
  expect(pushes.map(({ changes }) => changes)).toEqual([[], [1], [2, 3]]);
  c.close();
  await server.close({ graceMs: 0 });
});

/** A server of a source that names affected clients, with three clients of two groups. */
async function groupSetup(variant: Variant, clock = new FakeClock()) {
  const events: XdsEvent[] = [];
  const attribution = new ChangeAttribution(clock);
  const source = new GroupSource();
  source.beforeChange = () => attribution.beforeChange();
  const server = createXdsServer(source, { observe: (event) => events.push(event), attribution, clock });
  cleanUp.push(() => server.close({ graceMs: 0 }));
  const clients = ["a-1", "a-2", "b-1"].map((node) => new XdsClient(server, { variant, node }));
  cleanUp.push(() => clients.forEach((client) => client.close()));
  for (const client of clients) {
    for (const type of [clusterType, listenerType]) {
      client.subscribe(type);
      await client.accept(type);
    }
  }
  await idle();
  events.length = 0;
  return { source, events, attribution, clients };
}

describe.each(["delta", "sotw"] as const)("%s, with a source that names clients", (variant) => {
  it("a push of a named change is attributed to it", async () => {
    const { source, events, attribution } = await groupSetup(variant);
    const revision = source.set(clusterType, { b: "1" });
    await idle();
    expect(events.filter(({ kind }) => kind === "pushStart")).toMatchObject([{ nodeId: "b-1", changes: [revision] }]);
    expect(events.filter(({ kind }) => kind === "push")).toMatchObject([{ nodeId: "b-1", changes: [revision] }]);
    expect(attribution.pendingRevision).toBeUndefined();
  });

  it("a pending client is not named again, and its response is attributed to all changes that it shows", async () => {
    const { source, events, attribution, clients } = await groupSetup(variant);
    const [slow] = clients;
    slow?.pause(true);
    const first = source.set(clusterType, { a: "1".repeat(200_000) });
    await idle();
    const second = source.set(clusterType, { a: "2" });
    const elsewhere = source.set(clusterType, { b: "3" });
    const third = source.set(clusterType, { a: "4" });
    const listeners = source.set(listenerType, { a: "5" });
    expect(attribution.pendingRevision).toBe(first);
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
    expect(attribution.pendingRevision).toBeUndefined();
  });

  it("pending changes that could not be compared in time are all attributed to the response", async () => {
    const clock = new FakeClock();
    const { source, events, clients } = await groupSetup(variant, clock);
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
  });
});
