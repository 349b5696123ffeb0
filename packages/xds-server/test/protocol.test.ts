import {
  clusterType,
  endpointType,
  extensionConfigType,
  listenerType,
  routeType,
  secretType,
} from "@istiod/xds-server";
import { describe, expect, it } from "vitest";
import { onEach, setup, transports } from "./harness.js";
import { fakeCluster, fakeResource } from "@istiod/xds-server/testing";

onEach(transports, (variant, transport) => {
  const delta = variant === "delta";
  const serve = (sets: Parameters<typeof setup>[2]): ReturnType<typeof setup> => setup(variant, transport, sets);

  describe("the first request", () => {
    it("without names subscribes to all clusters", async () => {
      const { client } = await serve({ [clusterType]: [fakeResource("a"), fakeResource("b")] });
      const c = client();
      c.subscribe(clusterType);
      const response = await c.next();
      expect(response).toMatchObject({ typeUrl: clusterType, names: ["a", "b"], removed: [] });
      expect(response.nonce).not.toBe("");
      expect(response.version).not.toBe("");
      expect(response.resources.map(({ typeUrl }) => typeUrl)).toEqual([clusterType, clusterType]);
      expect(response.resources[0]?.bytes).toSatisfy((bytes: Uint8Array) =>
        fakeResource("a").bytes.every((byte, i) => byte === bytes[i]),
      );
      if (delta) expect(response.resources[0]?.version).toBe(fakeResource("a").version);
    });

    it("with * subscribes to all", async () => {
      const { client } = await serve({ [listenerType]: [fakeResource("a")] });
      const c = client();
      c.subscribe(listenerType, ["*"]);
      expect((await c.next()).names).toEqual(["a"]);
    });

    it("with names subscribes to these", async () => {
      const { client } = await serve({ [endpointType]: [fakeResource("a"), fakeResource("b"), fakeResource("c")] });
      const c = client();
      c.subscribe(endpointType, ["a", "c"]);
      expect((await c.next()).names).toEqual(["a", "c"]);
    });

    it("with names of clusters subscribes to these", async () => {
      const { client } = await serve({ [clusterType]: [fakeResource("a"), fakeResource("b")] });
      const c = client();
      c.subscribe(clusterType, ["b"]);
      expect((await c.next()).names).toEqual(["b"]);
    });

    it("for a wildcard is answered even if the set is empty, so that the client proceeds", async () => {
      const { client } = await serve({ [clusterType]: [] });
      const c = client();
      c.subscribe(clusterType);
      expect(await c.next()).toMatchObject({ typeUrl: clusterType, names: [], removed: [] });
    });

    it("for a type that the source does not serve is answered with an empty response", async () => {
      const { client } = await serve({});
      const c = client();
      c.subscribe("type.googleapis.com/example.Unknown");
      expect(await c.next()).toMatchObject({ names: [] });
    });

    it("without names for a named type is not answered", async () => {
      const { client } = await serve({ [endpointType]: [fakeResource("a")] });
      const c = client();
      c.subscribe(endpointType);
      expect(await c.settled()).toEqual([]);
    });

    it("for names that do not exist is answered: delta lists them as removed, SotW omits them", async () => {
      const { client } = await serve({ [endpointType]: [fakeResource("a")] });
      const c = client();
      c.subscribe(endpointType, ["a", "gone"]);
      expect(await c.next()).toMatchObject({ names: ["a"], removed: delta ? ["gone"] : [] });
    });

    it("for a name that does not exist yet of a type without removals is not answered with a removal", async () => {
      const { client, source } = await serve({ [extensionConfigType]: [] });
      const c = client();
      c.subscribe(extensionConfigType, ["a"]);
      source.put(extensionConfigType, fakeResource("a"));
      expect(await c.next()).toMatchObject({ names: ["a"], removed: [] });
      source.remove(extensionConfigType, "a");
      source.put(extensionConfigType, fakeResource("b"));
      expect(await c.settled()).toEqual([]);
      source.put(extensionConfigType, fakeResource("a", "new"));
      expect(await c.next()).toMatchObject({ names: ["a"], removed: [] });
    });

    it("must carry a node with an id", async () => {
      const { client, server, events } = await serve({});
      for (const c of [client({ node: "" }), client()]) {
        c.send({ typeUrl: clusterType, node: c.node.id === "" ? c.node : undefined });
        expect(await c.ended).toMatchObject({ code: 3, rawMessage: "missing node information" });
      }
      expect(server.connections()).toEqual([]);
      expect(events).toMatchObject([{ kind: "rejected", code: "InvalidArgument" }, { kind: "rejected" }]);
    });

    it("must have a type", async () => {
      const { client } = await serve({});
      const c = client();
      c.send({ node: c.node });
      expect(await c.ended).toMatchObject({ code: 3 });
    });
  });

  describe("acknowledgement", () => {
    it("is recorded and not answered", async () => {
      const { client, server, events } = await serve({ [clusterType]: [fakeResource("a")] });
      const c = client();
      c.subscribe(clusterType);
      const { nonce, version } = await c.accept(clusterType);
      expect(await c.settled()).toEqual([]);
      expect(server.connections()[0]?.subscriptions[0]).toMatchObject({
        typeUrl: clusterType,
        wildcard: true,
        nonceSent: nonce,
        nonceAcked: nonce,
        versionSent: version,
        versionAcked: version,
      });
      expect(events).toContainEqual(expect.objectContaining({ kind: "ack", typeUrl: clusterType, nonce }));
    });

    it("is accepted in any order of types", async () => {
      const { client } = await serve({ [clusterType]: [fakeResource("a")], [listenerType]: [fakeResource("l")] });
      const c = client();
      c.subscribe(clusterType);
      c.subscribe(listenerType);
      const clusters = await c.next(clusterType);
      const listeners = await c.next(listenerType);
      c.ack(listeners);
      c.ack(clusters);
      expect(await c.settled()).toEqual([]);
    });

    it("of an earlier response counts for that response, and its subscription is stale", async () => {
      const { client, source, server, events } = await serve({ [clusterType]: [fakeResource("a", "1")] });
      const c = client();
      c.subscribe(clusterType);
      const first = await c.next();
      source.put(clusterType, fakeResource("a", "2"));
      const second = await c.next();
      c.ack(first);
      expect(await c.settled()).toEqual([]);
      expect(server.connections()[0]?.subscriptions[0]).toMatchObject({
        nonceSent: second.nonce,
        nonceAcked: first.nonce,
      });
      expect(events).toContainEqual(expect.objectContaining({ kind: "request", stale: true }));
      expect(events).toContainEqual(expect.objectContaining({ kind: "ack", nonce: first.nonce }));
      c.ack(second);
      expect(await c.settled()).toEqual([]);
      expect(server.connections()[0]?.subscriptions[0]?.nonceAcked).toBe(second.nonce);
    });
  });

  describe("rejection", () => {
    it("is not answered, and recorded with the error and the rejected resources until the next ACK", async () => {
      const { client, source, server, events } = await serve({
        [clusterType]: [fakeResource("good"), fakeResource("bad", "1")],
      });
      const c = client({ node: "proxy" });
      c.subscribe(clusterType);
      const first = await c.accept(clusterType);
      await c.settled();
      source.put(clusterType, fakeResource("bad", "2"));
      const second = await c.next();
      c.nack(second, "cluster bad: no such thing");
      expect(await c.settled()).toEqual([]);
      const state = server.connections()[0]?.subscriptions[0];
      expect(state).toMatchObject({ nonceSent: second.nonce, nonceAcked: first.nonce, versionAcked: first.version });
      expect(state?.lastError).toMatchObject({
        nonce: second.nonce,
        code: 13,
        message: "cluster bad: no such thing",
        resources: ["bad"],
      });
      expect(events).toContainEqual(
        expect.objectContaining({ kind: "nack", nodeId: "proxy", typeUrl: clusterType, error: state?.lastError }),
      );

      source.put(clusterType, fakeResource("bad", "3"));
      await c.accept(clusterType);
      await c.settled();
      expect(server.connections()[0]?.subscriptions[0]?.lastError).toBeUndefined();
    });

    it("does not resend the rejected resource on other changes, except in full-state responses", async () => {
      const { client, source } = await serve({ [routeType]: [fakeResource("bad"), fakeResource("other", "1")] });
      const c = client();
      c.subscribe(routeType, ["bad", "other"]);
      c.nack(await c.next(), "bad");
      source.put(routeType, fakeResource("other", "2"));
      expect((await c.next()).names).toEqual(["other"]);
    });
  });

  describe("a change", () => {
    it("sends only changed resources in delta and for named types, and all clusters and listeners in SotW", async () => {
      const { client, source } = await serve({
        [clusterType]: [fakeResource("a", "1"), fakeResource("b")],
        [routeType]: [fakeResource("r", "1"), fakeResource("s")],
      });
      const c = client();
      c.subscribe(clusterType);
      c.subscribe(routeType, ["r", "s"]);
      await c.accept(clusterType);
      await c.accept(routeType);
      source.put(clusterType, fakeResource("a", "2"));
      expect((await c.accept(clusterType)).names).toEqual(delta ? ["a"] : ["a", "b"]);
      source.put(routeType, fakeResource("r", "2"));
      expect((await c.accept(routeType)).names).toEqual(["r"]);
      expect(await c.settled()).toEqual([]);
    });

    it("has a new version and nonce", async () => {
      const { client, source } = await serve({ [clusterType]: [fakeResource("a", "1")] });
      const c = client();
      c.subscribe(clusterType);
      const first = await c.accept(clusterType);
      source.put(clusterType, fakeResource("a", "2"));
      const second = await c.accept(clusterType);
      expect(second.nonce).not.toBe(first.nonce);
      expect(second.version).not.toBe(first.version);
      source.put(clusterType, fakeResource("a", "1"));
      expect((await c.accept(clusterType)).version).toBe(first.version);
    });

    it("that does not affect the subscription sends nothing", async () => {
      const { client, source } = await serve({ [endpointType]: [fakeResource("a"), fakeResource("b", "1")] });
      const c = client();
      c.subscribe(endpointType, ["a"]);
      await c.accept(endpointType);
      source.put(endpointType, fakeResource("b", "2"));
      source.put(clusterType, fakeResource("x"));
      expect(await c.settled()).toEqual([]);
    });

    it("with equal content sends nothing", async () => {
      const { client, source } = await serve({ [clusterType]: [fakeResource("a")] });
      const c = client();
      c.subscribe(clusterType);
      await c.accept(clusterType);
      source.set({ [clusterType]: [fakeResource("a")] });
      expect(await c.settled()).toEqual([]);
    });

    it("that removes a resource is sent by delta, and by SotW for clusters only", async () => {
      const { client, source } = await serve({
        [clusterType]: [fakeResource("a"), fakeResource("b")],
        [endpointType]: [fakeResource("a"), fakeResource("b")],
      });
      const c = client();
      c.subscribe(clusterType);
      c.subscribe(endpointType, ["a", "b"]);
      await c.accept(clusterType);
      await c.accept(endpointType);
      source.remove(clusterType, "a");
      expect(await c.accept(clusterType)).toMatchObject(delta ? { names: [], removed: ["a"] } : { names: ["b"] });
      source.remove(endpointType, "a");
      const rest = await c.settled();
      expect(rest.map(({ names, removed }) => ({ names, removed }))).toEqual(
        delta ? [{ names: [], removed: ["a"] }] : [],
      );
    });

    it("that removes the last cluster is sent", async () => {
      const { client, source } = await serve({ [clusterType]: [fakeResource("a")] });
      const c = client();
      c.subscribe(clusterType);
      await c.accept(clusterType);
      source.set({ [clusterType]: [] });
      expect(await c.next()).toMatchObject({ typeUrl: clusterType, names: [], removed: delta ? ["a"] : [] });
    });

    it("that adds a resource that was subscribed to before is sent", async () => {
      const { client, source } = await serve({ [endpointType]: [] });
      const c = client();
      c.subscribe(endpointType, ["later"]);
      c.ack(await c.next());
      source.put(endpointType, fakeResource("later"));
      expect((await c.next()).names).toEqual(["later"]);
    });

    it("of many types is pushed in the order clusters, endpoints, listeners, routes, secrets, others", async () => {
      const order = [
        clusterType,
        endpointType,
        listenerType,
        routeType,
        secretType,
        "type.googleapis.com/example.Other",
      ];
      const sets = (content: string) =>
        Object.fromEntries(order.map((typeUrl) => [typeUrl, [fakeResource("x", content)]]));
      const { client, source } = await serve(sets("1"));
      const c = client();
      for (const typeUrl of [...order].reverse()) c.subscribe(typeUrl, ["x"]);
      for (const typeUrl of order) await c.accept(typeUrl);
      await c.settled();
      const before = c.responses.length;
      source.set(sets("2"));
      await c.settled();
      expect(c.responses.slice(before, before + order.length).map(({ typeUrl }) => typeUrl)).toEqual(order);
    });
  });

  describe("the subscription", () => {
    it("can grow: added resources are sent, and only these for named types", async () => {
      const { client } = await serve({ [endpointType]: [fakeResource("a"), fakeResource("b")] });
      const c = client();
      c.subscribe(endpointType, ["a"]);
      await c.accept(endpointType);
      c.subscribe(endpointType, ["b"]);
      expect((await c.next()).names).toEqual(["b"]);
    });

    it("can shrink: nothing is sent, immediately or later", async () => {
      const { client, source } = await serve({ [endpointType]: [fakeResource("a", "1"), fakeResource("b", "1")] });
      const c = client();
      c.subscribe(endpointType, ["a", "b"]);
      await c.accept(endpointType);
      c.unsubscribe(endpointType, ["b"]);
      expect(await c.settled()).toEqual([]);
      source.set({ [endpointType]: [fakeResource("a", "2"), fakeResource("b", "2")] });
      expect((await c.accept(endpointType)).names).toEqual(["a"]);
      c.unsubscribe(endpointType, ["a"]);
      expect(await c.settled()).toEqual([]);
      source.set({ [endpointType]: [fakeResource("a", "3"), fakeResource("b", "3")] });
      expect((await c.settled()).flatMap(({ names }) => names)).toEqual([]);
    });

    it("can shrink and grow again: resources that the client may have dropped are sent again", async () => {
      const { client } = await serve({ [endpointType]: [fakeResource("a"), fakeResource("b")] });
      const c = client();
      c.subscribe(endpointType, ["a", "b"]);
      await c.accept(endpointType);
      c.unsubscribe(endpointType, ["b"]);
      await c.settled();
      c.subscribe(endpointType, ["b"]);
      expect((await c.accept(endpointType)).names).toEqual(["b"]);
      c.unsubscribe(endpointType, ["a", "b"]);
      await c.settled();
      c.subscribe(endpointType, ["a"]);
      expect((await c.next()).names).toEqual(["a"]);
    });

    it("to a cluster that does not exist yet is kept", async () => {
      const { client, source } = await serve({ [clusterType]: [fakeResource("a")] });
      const c = client();
      c.subscribe(clusterType, ["a", "later"]);
      await c.accept(clusterType);
      source.put(clusterType, fakeResource("later"));
      expect((await c.next()).names).toEqual(delta ? ["later"] : ["a", "later"]);
    });

    it("is not a wildcard without names once it was explicit", async () => {
      const { client, source } = await serve({ [clusterType]: [fakeResource("a", "1")] });
      const c = client();
      c.subscribe(clusterType, ["*"]);
      await c.accept(clusterType);
      c.unsubscribe(clusterType, ["*"]);
      expect(await c.settled()).toEqual([]);
      source.put(clusterType, fakeResource("a", "2"));
      expect(await c.settled()).toEqual([]);
    });

    it("can change from the wildcard to a name", async () => {
      const { client, source } = await serve({ [clusterType]: [fakeResource("a", "1"), fakeResource("b", "1")] });
      const c = client();
      c.subscribe(clusterType);
      await c.accept(clusterType);
      c.subscribe(clusterType, delta ? ["a"] : ["*", "a"]);
      for (const response of await c.settled()) c.ack(response);
      c.unsubscribe(clusterType, ["*"]);
      await c.settled();
      source.set({ [clusterType]: [fakeResource("a", "2"), fakeResource("b", "2")] });
      expect((await c.next()).names).toEqual(["a"]);
    });
  });

  describe("warming", () => {
    it("the endpoints of a changed cluster are sent again, and no others", async () => {
      const { client, source } = await serve({
        [clusterType]: [fakeResource("a", "1"), fakeCluster("b", "1", "b-endpoints"), fakeResource("c")],
        [endpointType]: [fakeResource("a"), fakeResource("b-endpoints"), fakeResource("c")],
      });
      const c = client();
      c.subscribe(clusterType);
      await c.accept(clusterType);
      c.subscribe(endpointType, ["a", "b-endpoints", "c"]);
      await c.accept(endpointType);
      source.put(clusterType, fakeResource("a", "2"));
      await c.accept(clusterType);
      expect((await c.accept(endpointType)).names).toEqual(["a"]);
      source.put(clusterType, fakeCluster("b", "2", "b-endpoints"), fakeResource("new"));
      await c.accept(clusterType);
      expect((await c.accept(endpointType)).names).toEqual(["b-endpoints"]);
      expect(await c.settled()).toEqual([]);
    });

    it("endpoints changed together with their cluster are sent once, after it", async () => {
      const { client, source } = await serve({
        [clusterType]: [fakeResource("a", "1")],
        [endpointType]: [fakeResource("a", "1"), fakeResource("b", "1")],
      });
      const c = client();
      c.subscribe(clusterType);
      await c.accept(clusterType);
      c.subscribe(endpointType, ["a", "b"]);
      await c.accept(endpointType);
      source.set({
        [clusterType]: [fakeResource("a", "2")],
        [endpointType]: [fakeResource("a", "2"), fakeResource("b", "2")],
      });
      const [first, second] = [await c.next(), await c.next()];
      expect([first.typeUrl, second.typeUrl]).toEqual([clusterType, endpointType]);
      expect(second.names).toEqual(["a", "b"]);
      c.ack(first);
      c.ack(second);
      expect(await c.settled()).toEqual([]);
    });

    it("a removed cluster does not resend endpoints", async () => {
      const { client, source } = await serve({
        [clusterType]: [fakeResource("a"), fakeResource("b")],
        [endpointType]: [fakeResource("a"), fakeResource("b")],
      });
      const c = client();
      c.subscribe(clusterType);
      await c.accept(clusterType);
      c.subscribe(endpointType, ["a", "b"]);
      await c.accept(endpointType);
      source.remove(clusterType, "a");
      await c.accept(clusterType);
      expect(await c.settled()).toEqual([]);
    });
  });

  it("two streams of one node are both served", async () => {
    const { client, source, server } = await serve({ [clusterType]: [fakeResource("a", "1")] });
    const both = [client({ node: "same" }), client({ node: "same" })];
    for (const c of both) {
      c.subscribe(clusterType);
      await c.accept(clusterType);
    }
    source.put(clusterType, fakeResource("a", "2"));
    for (const c of both) await c.accept(clusterType);
    const ids = server.connections().map(({ id }) => id);
    expect(new Set(ids).size).toBe(2);
    expect(ids.every((id) => id.startsWith("same-"))).toBe(true);
  });

  it("a half-closed stream ends without an error", async () => {
    const { client, server, source } = await serve({ [clusterType]: [] });
    const c = client();
    c.subscribe(clusterType);
    await c.next();
    expect(source.clients).toHaveLength(1);
    c.halfClose();
    expect(await c.ended).toBeUndefined();
    expect(server.connections()).toEqual([]);
    expect(source.clients).toEqual([]);
  });
});
