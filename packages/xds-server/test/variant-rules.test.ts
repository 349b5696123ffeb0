import { clusterType, endpointType, listenerType } from "@istiod/xds-server";
import { describe, expect, it } from "vitest";
import { setup, transports } from "./harness.js";
import { fakeResource } from "@istiod/xds-server/testing";

describe.each(transports)("delta over %s", (transport) => {
  const serve = (sets: Parameters<typeof setup>[2]) => setup("delta", transport, sets);

  it("a name that is subscribed to again is sent again, because the client may have dropped it", async () => {
    const { client } = await serve({ [endpointType]: [fakeResource("a"), fakeResource("b")] });
    const c = client();
    c.subscribe(endpointType, ["a", "b"]);
    await c.accept(endpointType);
    c.subscribe(endpointType, ["a"]);
    expect((await c.next()).names).toEqual(["a"]);
  });

  it("unsubscribing from a name in addition to a wildcard is answered with the resource or its removal", async () => {
    const { client, source } = await serve({ [clusterType]: [fakeResource("a")] });
    Object.assign(source, {
      lookup: (_: unknown, _type: string, name: string) => (name === "on-demand" ? fakeResource(name) : undefined),
    });
    const c = client();
    c.subscribe(clusterType);
    await c.accept(clusterType);
    c.subscribe(clusterType, ["a", "on-demand"]);
    await c.accept(clusterType);
    c.unsubscribe(clusterType, ["a"]);
    expect(await c.accept(clusterType)).toMatchObject({ names: ["a"], removed: [] });
    c.unsubscribe(clusterType, ["on-demand"]);
    expect(await c.accept(clusterType)).toMatchObject({ names: [], removed: ["on-demand"] });
  });

  it("unsubscribing twice, or from an unknown name, has no effect", async () => {
    const { client } = await serve({ [endpointType]: [fakeResource("a")] });
    const c = client();
    c.subscribe(endpointType, ["a"]);
    await c.accept(endpointType);
    c.unsubscribe(endpointType, ["a", "a", "never"]);
    c.unsubscribe(endpointType, ["a"]);
    expect(await c.settled()).toEqual([]);
  });

  it("* subscribed to and unsubscribed from in one request has no effect", async () => {
    const { client, source } = await serve({ [listenerType]: [fakeResource("a", "1")] });
    const c = client();
    c.send({ typeUrl: listenerType, node: c.node, names: ["*"], unsubscribe: ["*"] });
    expect(await c.settled()).toEqual([]);
    source.put(listenerType, fakeResource("a", "2"));
    expect(await c.settled()).toEqual([]);
  });

  it("a name in addition to the wildcard stays subscribed without it", async () => {
    const { client } = await serve({ [clusterType]: [fakeResource("a"), fakeResource("b")] });
    const c = client();
    c.subscribe(clusterType, ["*", "a"]);
    expect((await c.accept(clusterType)).names).toEqual(["a", "b"]);
    c.unsubscribe(clusterType, ["*"]);
    expect(await c.settled()).toEqual([]);
    c.subscribe(clusterType, ["*"]);
    expect((await c.accept(clusterType)).names).toEqual(["a", "b"]);
  });

  it("a subscription in a request with a stale nonce counts", async () => {
    const { client, source } = await serve({ [endpointType]: [fakeResource("a", "1"), fakeResource("b")] });
    const c = client();
    c.subscribe(endpointType, ["a"]);
    const first = await c.next();
    source.put(endpointType, fakeResource("a", "2"));
    await c.next();
    c.send({ typeUrl: endpointType, nonce: first.nonce, names: ["b"] });
    expect((await c.next()).names).toEqual(["b"]);
  });

  it("an acknowledgement may subscribe as well", async () => {
    const { client } = await serve({ [endpointType]: [fakeResource("a"), fakeResource("b")] });
    const c = client();
    c.subscribe(endpointType, ["a"]);
    const { nonce } = await c.next();
    c.send({ typeUrl: endpointType, nonce, names: ["b"], unsubscribe: ["a"] });
    expect((await c.next()).names).toEqual(["b"]);
  });

  it("nonces of one stream differ from those of another", async () => {
    const { client } = await serve({ [clusterType]: [] });
    const nonces = new Set<string>();
    for (const c of [client(), client()]) {
      c.subscribe(clusterType);
      nonces.add((await c.next()).nonce);
    }
    expect(nonces.size).toBe(2);
  });
});

describe.each(transports)("state-of-the-world over %s", (transport) => {
  const serve = (sets: Parameters<typeof setup>[2]) => setup("sotw", transport, sets);

  it("a request with a stale nonce is ignored altogether", async () => {
    const { client, source } = await serve({ [endpointType]: [fakeResource("a", "1"), fakeResource("b")] });
    const c = client();
    c.subscribe(endpointType, ["a"]);
    const first = await c.next();
    source.put(endpointType, fakeResource("a", "2"));
    const second = await c.next();
    c.send({ typeUrl: endpointType, nonce: first.nonce, version: first.version, names: ["a", "b"] });
    expect(await c.settled()).toEqual([]);
    c.send({ typeUrl: endpointType, nonce: second.nonce, version: second.version, names: ["a", "b"] });
    expect((await c.next()).names).toEqual(["b"]);
  });

  it("a name that only a request with a stale nonce lacks is sent again, because the client has dropped it", async () => {
    const resources = ["a", "b", "c"].map((name) => fakeResource(name, "1"));
    const { client, source } = await serve({ [endpointType]: resources });
    const c = client();
    c.subscribe(endpointType, ["a", "b", "c"]);
    const { nonce, version } = await c.accept(endpointType);
    source.put(endpointType, fakeResource("b", "2"));
    const second = await c.next();
    for (const names of [["b"], ["a", "b"]]) c.send({ typeUrl: endpointType, nonce, version, names });
    expect(await c.settled()).toEqual([]);
    c.send({ typeUrl: endpointType, nonce: second.nonce, version: second.version, names: ["a", "b"] });
    const again = await c.next();
    expect(again.names).toEqual(["a"]);
    c.send({ typeUrl: endpointType, nonce: again.nonce, version: again.version, names: ["a", "b"] });
    expect(await c.settled()).toEqual([]);
  });

  it("a request without a nonce starts the type over", async () => {
    const { client } = await serve({ [endpointType]: [fakeResource("a"), fakeResource("b")] });
    const c = client();
    c.subscribe(endpointType, ["a", "b"]);
    await c.accept(endpointType);
    c.send({ typeUrl: endpointType, names: ["a", "b"] });
    expect((await c.next()).names).toEqual(["a", "b"]);
  });

  it("a request with a nonce of an earlier stream is answered", async () => {
    const { client } = await serve({ [clusterType]: [fakeResource("a")] });
    const c = client();
    c.send({ typeUrl: clusterType, node: c.node, nonce: "from another life", version: "x" });
    expect((await c.next()).names).toEqual(["a"]);
  });

  it("a NACK may subscribe to more names", async () => {
    const { client } = await serve({ [endpointType]: [fakeResource("a"), fakeResource("b")] });
    const c = client();
    c.subscribe(endpointType, ["a"]);
    const { nonce } = await c.next();
    c.send({ typeUrl: endpointType, nonce, names: ["a", "b"], error: "a is bad" });
    expect((await c.next()).names).toEqual(["b"]);
  });

  it("added names of clusters resend all named clusters", async () => {
    const { client } = await serve({ [clusterType]: [fakeResource("a"), fakeResource("b"), fakeResource("c")] });
    const c = client();
    c.subscribe(clusterType, ["a"]);
    await c.accept(clusterType);
    c.subscribe(clusterType, ["c"]);
    expect((await c.next()).names).toEqual(["a", "c"]);
  });

  it("the same names in another order are the same subscription", async () => {
    const { client } = await serve({ [endpointType]: [fakeResource("a"), fakeResource("b")] });
    const c = client();
    c.subscribe(endpointType, ["a", "b"]);
    const { nonce, version } = await c.accept(endpointType);
    c.send({ typeUrl: endpointType, nonce, version, names: ["b", "a"] });
    expect(await c.settled()).toEqual([]);
  });

  it("a name that is subscribed to again after unsubscribing from all is sent", async () => {
    const { client } = await serve({ [endpointType]: [fakeResource("a")] });
    const c = client();
    c.subscribe(endpointType, ["a"]);
    await c.accept(endpointType);
    c.unsubscribe(endpointType, ["a"]);
    expect(await c.settled()).toEqual([]);
    c.subscribe(endpointType, ["a"]);
    expect((await c.next()).names).toEqual(["a"]);
  });
});
