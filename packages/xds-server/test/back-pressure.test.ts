import { clusterType, endpointType, listenerType, type PushEvent } from "@istiod/xds-server";
import { expect, it } from "vitest";
import { FakeClock } from "@istiod/runtime/testing";
import { fakeResource, idle } from "@istiod/xds-server/testing";
import { onEach, setup } from "./harness.js";

const large = (text: string) => fakeResource("large", text.repeat(200_000));

onEach(["memory"], (variant, transport) => {
  it("changes are merged while a client is not reading", async () => {
    const { client, source } = await setup(variant, transport, { [clusterType]: [large("a")] });
    const c = client();
    c.subscribe(clusterType);
    await c.accept(clusterType);
    await c.settled();
    c.pause(true);
    for (const text of "bcdefg") {
      source.put(clusterType, large(text));
      await idle();
    }
    c.pause(false);
    await c.settled();
    const contents = c.responses
      .filter(({ typeUrl }) => typeUrl === clusterType)
      .map(({ resources }) => resources[0]?.bytes.at(-1));
    expect(contents.map((byte) => String.fromCharCode(byte ?? 0))).toEqual(["a", "b", "g"]);
  });

  it("the responses of one push are consistent, even if another change arrives in between", async () => {
    const state = (text: string) => ({ [clusterType]: [large(text)], [listenerType]: [fakeResource("l", text)] });
    const { client, source } = await setup(variant, transport, state("a"));
    const c = client();
    c.subscribe(clusterType);
    c.subscribe(listenerType);
    await c.accept(clusterType);
    await c.accept(listenerType);
    await c.settled();
    c.pause(true);
    source.set(state("b"));
    await idle();
    source.set(state("c"));
    await idle();
    c.pause(false);
    await c.settled();
    const content = c.responses
      .filter(({ typeUrl }) => typeUrl === clusterType || typeUrl === listenerType)
      .map(
        ({ typeUrl, resources }) =>
          `${typeUrl === clusterType ? "cluster" : "listener"} ${String.fromCharCode(resources[0]?.bytes.at(-1) ?? 0)}`,
      );
    expect(content.slice(2)).toEqual(["cluster b", "listener b", "cluster c", "listener c"]);
  });

  it("a client that does not read does not delay others", async () => {
    const clock = new FakeClock();
    const { client, source } = await setup(
      variant,
      transport,
      { [clusterType]: [large("a")] },
      { concurrentPushes: 2, clock },
    );
    const slow = [client(), client(), client()];
    for (const c of slow) {
      c.subscribe(clusterType);
      await c.accept(clusterType);
      c.pause(true);
    }
    source.put(clusterType, large("b"));
    await idle();
    // All places are taken by clients that do not read, for a moment.
    const quick = client();
    quick.subscribe(clusterType);
    await idle();
    expect(quick.responses).toEqual([]);
    clock.advance(1500);
    await idle();
    clock.advance(1500);
    const response = await quick.next(clusterType);
    expect(response.resources[0]?.bytes.at(-1)).toBe("b".charCodeAt(0));
  });

  it("a client that does not read for too long is disconnected", async () => {
    const clock = new FakeClock();
    const { client, events, server } = await setup(
      variant,
      transport,
      { [clusterType]: [large("a")] },
      { sendTimeoutMs: 5000, clock },
    );
    const c = client();
    c.pause(true);
    c.subscribe(clusterType);
    await idle();
    expect(server.connections()[0]?.outstandingBytes).toBeGreaterThan(200_000);
    clock.advance(4000);
    expect(server.connections()).toHaveLength(1);
    clock.advance(3000);
    expect(server.connections()).toHaveLength(0);
    expect(await c.ended).toBeDefined();
    expect(events).toContainEqual(
      expect.objectContaining({ kind: "disconnect", reason: "send timeout: the client read nothing for 5000 ms" }),
    );
  });

  it("requests are answered before changes are pushed to other clients", async () => {
    const { client, source } = await setup(variant, transport, {
      [clusterType]: [fakeResource("a", "1")],
      [endpointType]: [fakeResource("a")],
    });
    const pushes: string[] = [];
    const watching = client({ onResponse: ({ typeUrl }) => pushes.push(`watching ${typeUrl}`) });
    watching.subscribe(clusterType);
    await watching.accept(clusterType);
    const asking = client({ onResponse: ({ typeUrl }) => pushes.push(`asking ${typeUrl}`) });
    asking.subscribe(listenerType);
    await asking.accept(listenerType);
    await watching.settled();
    pushes.length = 0;
    source.put(clusterType, fakeResource("a", "2"));
    asking.subscribe(endpointType, ["a"]);
    await asking.next(endpointType);
    await watching.next(clusterType);
    expect(pushes).toEqual([`asking ${endpointType}`, `watching ${clusterType}`]);
  });
});

onEach(["memory", "http2"], (variant, transport) => {
  it("reports what was pushed", async () => {
    const { client, source, events } = await setup(variant, transport, {
      [clusterType]: [fakeResource("a", "1"), fakeResource("b")],
    });
    const c = client();
    const startedAt = performance.now();
    c.subscribe(clusterType);
    await c.accept(clusterType);
    await c.settled();
    source.put(clusterType, fakeResource("a", "2"));
    const response = await c.accept(clusterType);
    await c.settled();
    const pushes = events.filter((event): event is PushEvent => event.kind === "push" && event.typeUrl === clusterType);
    expect(pushes).toMatchObject([
      { reason: "request", resources: 2 },
      {
        reason: "change",
        resources: variant === "delta" ? 1 : 2,
        removed: 0,
        nonce: response.nonce,
        bytes: response.bytes,
      },
    ]);
    const elapsedMs = performance.now() - startedAt;
    for (const { queueMs, buildMs } of pushes) {
      expect(buildMs).toBeGreaterThan(0);
      expect(queueMs + buildMs).toBeLessThan(elapsedMs);
    }
    expect(events).toContainEqual(expect.objectContaining({ kind: "ack", nonce: response.nonce }));
  });
});

onEach(["memory"], (variant, transport) => {
  it("at most one response beyond the limit is in flight to a client that does not read, regardless of the number of changes", async () => {
    const { client, source, server } = await setup(
      variant,
      transport,
      { [clusterType]: [large("a")] },
      { maxOutstandingBytes: 300_000 },
    );
    const c = client();
    c.subscribe(clusterType);
    await c.accept(clusterType);
    await c.settled();
    c.pause(true);
    const outstanding: number[] = [];
    for (let i = 0; i < 20; i++) {
      source.put(clusterType, large(String.fromCharCode(98 + i)));
      await idle();
      outstanding.push(server.connections()[0]?.outstandingBytes ?? 0);
    }
    expect(Math.max(...outstanding)).toBeGreaterThan(300_000);
    expect(Math.max(...outstanding)).toBeLessThan(300_000 + 201_000);
    c.pause(false);
    await c.settled();
    expect(
      String.fromCharCode(
        c.responses
          .filter(({ typeUrl }) => typeUrl === clusterType)
          .at(-1)
          ?.resources[0]?.bytes.at(-1) ?? 0,
      ),
    ).toBe("u");
  });
});
