import { Code, ConnectError } from "@connectrpc/connect";
import { resource, ResourceSet, type Resource } from "@istiod/resources";
import {
  clusterType,
  createXdsServer,
  routeType,
  secretType,
  staticSource,
  type Peer,
  type ResourceSource,
} from "@istiod/xds-server";
import { FakeClock } from "@istiod/runtime/testing";
import { fakeResource, idle, XdsClient } from "@istiod/xds-server/testing";
import { describe, expect, it, test } from "vitest";
import { onEach, setup } from "./harness.js";

onEach(["memory", "http2", "connect"], (variant, transport) => {
  const delta = variant === "delta";

  describe("admission", () => {
    it("rejects streams until the source is ready", async () => {
      const source = Object.assign(staticSource({}), { ready: () => false });
      const { client } = await setup(variant, transport, {}, {}, source);
      const c = client();
      c.subscribe(clusterType);
      expect(await c.ended).toMatchObject({ code: Code.Unavailable });
    });

    it("is the source's decision, from node, address and headers", async () => {
      let peer: Peer | undefined;
      const source = Object.assign(staticSource({}), {
        open: (_node: unknown, from: Peer) => {
          peer = from;
          throw new ConnectError("not you", Code.PermissionDenied);
        },
      });
      const { client, server, events } = await setup(variant, transport, {}, {}, source);
      const c = client({ headers: { authorization: "Bearer token" } });
      c.subscribe(clusterType);
      expect(await c.ended).toMatchObject({ code: Code.PermissionDenied, rawMessage: "not you" });
      expect(peer?.headers["authorization"]).toBe("Bearer token");
      if (transport !== "memory") expect(peer?.address).toBe("127.0.0.1");
      expect(server.connections()).toEqual([]);
      expect(events).toMatchObject([{ kind: "rejected", code: "PermissionDenied", message: "not you" }]);
    });

    it("may be asynchronous; requests wait", async () => {
      let admit: () => void = () => undefined;
      const waiting = new Promise<void>((resolve) => (admit = resolve));
      const source = staticSource({ [clusterType]: [fakeResource("a")] });
      const open = source.open.bind(source);
      Object.assign(source, { open: async (...args: Parameters<typeof open>) => (await waiting, open(...args)) });
      const { client } = await setup(variant, transport, {}, {}, source);
      const c = client();
      c.subscribe(clusterType);
      c.subscribe(routeType, ["r"]);
      await idle();
      admit();
      expect((await c.next(clusterType)).names).toEqual(["a"]);
      await c.next(routeType);
    });

    it("that fails without a status is an internal error without details", async () => {
      const source = Object.assign(staticSource({}), { open: () => Promise.reject(new Error("secret")) });
      const { client, events } = await setup(variant, transport, {}, {}, source);
      const c = client();
      c.subscribe(clusterType);
      expect(await c.ended).toMatchObject({ code: Code.Internal, rawMessage: "internal error" });
      expect(events).toContainEqual(
        expect.objectContaining({ kind: "rejected", code: "Internal", cause: new Error("secret") }),
      );
    });
  });

  describe("a failed read", () => {
    it("keeps the last good config, is reported, and is repeated after the next change", async () => {
      const source = staticSource({ [clusterType]: [fakeResource("a", "1")], [routeType]: [fakeResource("r", "1")] });
      const answer = source.resources.bind(source);
      let broken = false;
      source.resources = (client, typeUrl) => {
        if (broken && typeUrl === clusterType) throw new Error("broken");
        return answer(client, typeUrl);
      };
      const { client, events } = await setup(variant, transport, {}, {}, source);
      const c = client();
      c.subscribe(clusterType);
      c.subscribe(routeType, ["r"]);
      await c.accept(clusterType);
      await c.accept(routeType);
      broken = true;
      source.set({ [clusterType]: [fakeResource("a", "2")], [routeType]: [fakeResource("r", "2")] });
      expect((await c.accept(routeType)).names).toEqual(["r"]);
      expect(await c.settled()).toEqual([]);
      expect(events).toContainEqual(
        expect.objectContaining({ kind: "failure", typeUrl: clusterType, error: new Error("broken") }),
      );
      broken = false;
      source.set({ [clusterType]: [fakeResource("a", "3")] });
      expect((await c.accept(clusterType)).names).toEqual(["a"]);
    });
  });

  describe("names outside the set", () => {
    const withSecrets = (secrets: Map<string, Resource>) =>
      Object.assign(staticSource({ [secretType]: [fakeResource("in-set", "1")] }), {
        lookup: (_client: unknown, typeUrl: string, name: string) =>
          typeUrl === secretType ? secrets.get(name) : undefined,
      });

    it("are looked up when they are subscribed to, and after each change", async () => {
      const secrets = new Map([
        ["one", fakeResource("one", "1")],
        ["other", fakeResource("other", "1")],
      ]);
      const source = withSecrets(secrets);
      const { client, server } = await setup(variant, transport, {}, {}, source);
      const c = client();
      c.subscribe(secretType, ["in-set", "one", "none"]);
      expect(await c.accept(secretType)).toMatchObject({ names: ["in-set", "one"], removed: delta ? ["none"] : [] });
      const subscription = server.connections()[0]?.subscriptions[0];
      expect([...(subscription?.sent ?? [])].map(({ name }) => name)).toEqual(["in-set", "one"]);
      for (const name of ["in-set", "one", "other", "nowhere"])
        expect(subscription?.sentOf(name)).toBe(subscription?.sent?.get(name));

      secrets.set("other", fakeResource("other", "2"));
      source.set({});
      source.put(secretType, fakeResource("in-set", "1"));
      expect(await c.settled()).toEqual([]);

      secrets.set("one", fakeResource("one", "2"));
      secrets.set("none", fakeResource("none", "1"));
      source.put(secretType, fakeResource("unrelated", "1"));
      expect((await c.accept(secretType)).names).toEqual(["one", "none"]);

      secrets.delete("one");
      source.put(secretType, fakeResource("unrelated", "2"));
      expect((await c.settled()).map(({ removed }) => removed)).toEqual(delta ? [["one"]] : []);
    });

    it("may move into the set and out of it", async () => {
      const secrets = new Map([["x", fakeResource("x", "outside")]]);
      const source = withSecrets(secrets);
      const { client } = await setup(variant, transport, {}, {}, source);
      const c = client();
      c.subscribe(secretType, ["x"]);
      const content = async () => Buffer.from((await c.accept(secretType)).resources[0]?.bytes ?? []).toString();
      expect(await content()).toContain("outside");
      source.put(secretType, fakeResource("x", "inside"));
      expect(await content()).toContain("inside");
      source.remove(secretType, "x");
      expect(await content()).toContain("outside");
      secrets.delete("x");
      source.put(secretType, fakeResource("x", "inside"));
      expect(await content()).toContain("inside");
    });

    it("change the version of the type", async () => {
      const secrets = new Map([["one", fakeResource("one", "1")]]);
      const source = withSecrets(secrets);
      const { client } = await setup(variant, transport, {}, {}, source);
      const c = client();
      c.subscribe(secretType, ["one"]);
      const first = await c.accept(secretType);
      secrets.set("one", fakeResource("one", "2"));
      source.set({ [secretType]: [] });
      source.put(secretType, fakeResource("in-set", "1"));
      expect((await c.accept(secretType)).version).not.toBe(first.version);
    });
  });

  it("the source is notified once when a stream ends", async () => {
    const closed: string[] = [];
    const source = staticSource({});
    Object.assign(source, { close: (client: { node: { id: string } }) => closed.push(client.node.id) });
    const { client, server } = await setup(variant, transport, {}, {}, source);
    const [gone, ended] = [client({ node: "gone" }), client({ node: "ended" })];
    for (const c of [gone, ended]) {
      c.subscribe(clusterType);
      await c.accept(clusterType);
    }
    gone.close();
    expect(server.disconnect("nobody")).toBe(false);
    expect(server.nodes().map(({ id }) => id)).toEqual(server.connections().map(({ node }) => node.id));
    expect(server.nodes().map(({ id }) => id)).toContain("ended");
    expect(server.disconnect(server.connections().find(({ node }) => node.id === "ended")?.id ?? "")).toBe(true);
    expect(await ended.ended).toMatchObject({ code: Code.Unavailable });
    await expect.poll(() => closed.sort()).toEqual(["ended", "gone"]);
    await expect.poll(() => server.connections()).toEqual([]);
  });
});

test("streams are limited in rate: the next one is delayed, and rejected if the delay exceeds a second", async () => {
  const clock = new FakeClock();
  const server = createXdsServer(staticSource({ [clusterType]: [] }), { streamsPerSecond: 2, clock });
  const clients = Array.from({ length: 4 }, () => new XdsClient(server, { variant: "delta" }));
  for (const c of clients) c.subscribe(clusterType);
  await clients[0]?.next();
  expect(await clients[3]?.ended).toMatchObject({ code: Code.ResourceExhausted });
  expect(clients[1]?.responses).toEqual([]);
  clock.advance(500);
  await clients[1]?.next();
  clock.advance(500);
  await clients[2]?.next();
  await Promise.all([server.close({ graceMs: 0 }), idle().then(() => clock.advance(100))]);
});

onEach(["memory", "http2"], (variant, transport) => {
  it("a stream counts when it is opened: one without requests is limited as well", async () => {
    const { client } = await setup(variant, transport, { [clusterType]: [] }, { streamsPerSecond: 0.5 });
    const [first, second] = [client(), client()];
    expect(await second!.ended).toMatchObject({ code: Code.ResourceExhausted });
    first!.subscribe(clusterType);
    await first!.accept(clusterType);
  });
});

test("a client sees its own resources", async () => {
  const source: ResourceSource<string> = {
    ready: () => true,
    open: (node) => node.id,
    resources: (id) => ResourceSet.of([resource(`for ${id}`, fakeResource(`for ${id}`).bytes)]),
    watch: () => () => undefined,
  };
  const server = createXdsServer(source);
  for (const node of ["a", "b"]) {
    const c = new XdsClient(server, { variant: "sotw", node });
    c.subscribe(clusterType);
    expect((await c.next()).names).toEqual([`for ${node}`]);
    c.close();
  }
  await server.close({ graceMs: 0 });
});
