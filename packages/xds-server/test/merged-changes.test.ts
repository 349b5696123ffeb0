import {
  type AckEvent,
  clusterType,
  createXdsServer,
  endpointType,
  listenerType,
  type NackEvent,
  type PushEvent,
  type ServedEvent,
  staticSource,
  type TurnEvent,
  type XdsEvent,
} from "@istiod/xds-server";
import { XdsClient } from "@istiod/xds-server/testing";
import { expect, test } from "vitest";
import { FakeClock, idle } from "./fake-clock.js";
import { onEach, setup } from "./harness.js";
import { edsCluster, made } from "./resources.js";

const large = (text: string) => made("large", text.repeat(200_000));
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

onEach(["memory"], (variant, transport) => {
  const start = { [clusterType]: [large("0"), made("a", "0"), made("b", "0")], [listenerType]: [made("l", "0")] };

  test("a response counts for each of the changes merged in it that it shows something of, and for no other", async () => {
    const { client, source, events, server } = await setup(variant, transport, start);
    const slow = client();
    for (const type of [clusterType, listenerType]) {
      slow.subscribe(type);
      await slow.accept(type);
    }
    await slow.settled();
    slow.pause(true);
    const blocking = source.put(clusterType, large("1"));
    await idle();
    const first = source.put(clusterType, made("a", "1"));
    const listener = source.put(listenerType, made("l", "1"));
    const equal = source.put(clusterType, made("b", "0"));
    const second = source.put(clusterType, made("b", "1"));
    const again = source.put(clusterType, made("a", "2"));
    expect(server.unserved()).toBe(blocking);
    events.length = 0;
    slow.pause(false);
    const merged = (await slow.settled()).filter(({ typeUrl }) => typeUrl === clusterType).at(-1);
    expect(of(events, "push")).toMatchObject([{ changes: [first, second, again], revision: again, reason: "change" }]);
    expect(of(events, "push")[0]?.changes).not.toContain(equal);
    expect(of(events, "push", listenerType)).toMatchObject([{ changes: [listener], revision: again }]);
    expect(server.unserved()).toBeUndefined();
    if (merged) slow.ack(merged);
    await slow.settled();
    expect(of(events, "ack").at(-1)).toMatchObject({ nonce: merged?.nonce, revision: again });
  });

  test("what a change did and another undid while they waited is sent to nobody, and counts for neither", async () => {
    const { client, source, events } = await setup(variant, transport, start);
    const slow = client();
    slow.subscribe(clusterType);
    await slow.accept(clusterType);
    await slow.settled();
    slow.pause(true);
    source.put(clusterType, large("1"));
    await idle();
    source.put(clusterType, made("a", "1"));
    const kept = source.put(clusterType, made("b", "1"));
    source.put(clusterType, made("a", "0"));
    events.length = 0;
    slow.pause(false);
    await slow.settled();
    expect(of(events, "push").map(({ changes }) => changes)).toEqual([[kept]]);
  });

  test("a change that meets a request counts where the response shows it", async () => {
    const { client, source, events } = await setup(variant, transport, {
      [clusterType]: [large("0")],
      [endpointType]: [made("x", "0"), made("y", "0")],
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
    const change = source.put(endpointType, made("x", "1"));
    const other = source.put(endpointType, made("z", "1"));
    events.length = 0;
    slow.pause(false);
    await slow.settled();
    const pushes = of(events, "push", endpointType);
    expect(pushes.flatMap(({ changes }) => changes)).toEqual([change]);
    expect(pushes.every(({ changes }) => !changes.includes(other))).toBe(true);
  });

  test("endpoints that are sent because their cluster changed count for the change of the cluster", async () => {
    const { client, source, events } = await setup(variant, transport, {
      [clusterType]: [edsCluster("a", "0")],
      [endpointType]: [made("a", "0")],
    });
    const c = await withEndpoints(client());
    events.length = 0;
    const change = source.put(clusterType, edsCluster("a", "1"));
    await c.settled();
    expect(of(events, "push", endpointType)).toMatchObject([{ changes: [change] }]);
  });

  test("what a client asks for because a change brought it counts for that change, if it asks soon", async () => {
    const clock = new FakeClock();
    const { client, source, events } = await setup(
      variant,
      transport,
      { [clusterType]: [edsCluster("a", "0")], [endpointType]: [made("a", "0")] },
      { clock },
    );
    const c = await withEndpoints(client());
    events.length = 0;
    // The endpoints are there before anybody asks for them.
    const endpoints = source.put(endpointType, made("b", "0"));
    const other = source.put(endpointType, made("late", "0"));
    const cluster = source.put(clusterType, edsCluster("b", "0"));
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

  test("first responses show a revision and count for no change", async () => {
    const { client, source, events } = await setup(variant, transport, start);
    const revision = source.put(clusterType, made("a", "1"));
    const c = client();
    c.subscribe(clusterType);
    await c.accept(clusterType);
    await c.settled();
    expect(of(events, "push")).toMatchObject([{ reason: "request", revision, changes: [] }]);
    expect(of(events, "ack")).toMatchObject([{ revision }]);
  });

  test("each response is answered for itself, also when the next one is on its way", async () => {
    const { client, source, events } = await setup(variant, transport, {
      [clusterType]: [made("a", "0"), made("b", "0")],
    });
    const c = client();
    c.subscribe(clusterType);
    await c.accept(clusterType);
    await c.settled();
    const firstRevision = source.put(clusterType, made("a", "1"));
    const first = await c.next(clusterType);
    const secondRevision = source.put(clusterType, made("a", "2"));
    const second = await c.next(clusterType);
    const thirdRevision = source.put(clusterType, made("b", "1"));
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

  test("every client has its turn with every change, and is said to be served once, when all is handed over", async () => {
    const clock = new FakeClock();
    const { client, source, events } = await setup(variant, transport, start, { clock });
    const c = client();
    for (const type of [clusterType, listenerType]) {
      c.subscribe(type);
      await c.accept(type);
    }
    await c.settled();
    events.length = 0;
    const untouched = source.put(clusterType, made("a", "0"));
    await c.settled();
    expect(of(events, "turn")).toMatchObject([{ changes: [untouched] } satisfies Partial<TurnEvent>]);
    expect(of(events, "served")).toEqual([]);
    c.pause(true);
    const first = source.put(clusterType, large("1"));
    await idle();
    clock.advance(300);
    const second = source.set({ [clusterType]: [large("2")], [listenerType]: [made("l", "2")] });
    await idle();
    clock.advance(200);
    events.length = 0;
    c.pause(false);
    await c.settled();
    expect(of(events, "turn")).toMatchObject([{ changes: [second], queueMs: 200 }]);
    const served: ServedEvent[] = of(events, "served");
    expect(served).toMatchObject([{ responses: 3, sinceMs: 500 }]);
    expect(served[0]?.bytes).toBeGreaterThan(400_000);
    expect(first).toBeLessThan(second);
    expect(of(events, "sent").at(-1)).toBeDefined();
  });
});

test("before a change, only clients that wait are looked at", async () => {
  const source = staticSource({ [clusterType]: [made("a", "0")] });
  let asked = 0;
  const counting = {
    ...source,
    resources: (client: Parameters<typeof source.resources>[0], type: string) => (
      asked++,
      source.resources(client, type)
    ),
  };
  const pushes: PushEvent[] = [];
  const server = createXdsServer(counting, {
    observe: (event) => event.kind === "push" && event.typeUrl === clusterType && pushes.push(event),
  });
  const c = new XdsClient(server, { variant: "delta" });
  c.subscribe(clusterType);
  await c.accept(clusterType);
  await c.settled();
  asked = 0;
  source.put(clusterType, made("a", "1"));
  await c.accept(clusterType);
  expect(asked).toBe(1);
  source.put(clusterType, made("a", "2"));
  source.put(clusterType, made("a", "3"));
  await c.accept(clusterType);
  expect(asked).toBe(3);
  expect(pushes.map(({ changes }) => changes)).toEqual([[], [1], [2, 3]]);
  c.close();
  await server.close({ graceMs: 0 });
});
