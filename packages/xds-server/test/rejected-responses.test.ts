import { FakeClock } from "@istiod/runtime/testing";
import { clusterType, listenerType, routeType, type XdsEvent } from "@istiod/xds-server";
import { fakeResource, type ReceivedResponse, type XdsClient } from "@istiod/xds-server/testing";
import { describe, expect, it } from "vitest";
import { onEach, setup } from "./harness.js";

const alphabet = [..."abcdefgh"];

onEach(["memory"], (variant) => {
  const delta = variant === "delta";
  const serve = async (typeUrl: string, contents: Readonly<Record<string, string>>) => {
    const clock = new FakeClock();
    const resources = Object.entries(contents).map(([name, text]) => fakeResource(name, text));
    const served = await setup(variant, "memory", { [typeUrl]: resources }, { clock, random: () => 0 });
    const states = (): Record<string, string> => {
      const subscription = served.server.connections()[0]?.subscriptions.find((each) => each.typeUrl === typeUrl);
      const names = [...(subscription?.sent ?? [])].map(({ name }) => name);
      return Object.fromEntries(names.map((name) => [name, subscription?.stateOf(name)?.state ?? ""]));
    };
    return { ...served, clock, states };
  };

  /** Answers responses as a client that names no resource, until there are none. Returns the responses. */
  async function answer(client: XdsClient, isBad: (name: string) => boolean): Promise<ReceivedResponse[]> {
    const all: ReceivedResponse[] = [];
    for (;;) {
      const came = await client.settled();
      if (came.length === 0) return all;
      for (const response of came) {
        all.push(response);
        if (response.names.some(isBad)) client.nack(response, "no");
        else client.ack(response);
      }
    }
  }

  const nacks = (events: readonly XdsEvent[]) =>
    events.flatMap((event) => (event.kind === "nack" ? [event.error] : []));

  it("sends the others again at once without those that the message names, with the reason of each", async () => {
    const { client, states, events } = await serve(clusterType, { a: "1", bad: "1", c: "1", "worse|80": "1" });
    const c = client();
    c.subscribe(clusterType);
    c.nack(await c.next(), "Error adding/updating cluster(s) bad: no EDS config, worse|80: duplicate of c: no");
    const again = await c.next();
    expect(again.names).toEqual(["a", "c"]);
    expect(states()).toEqual({ a: "resent", bad: "rejected", c: "resent", "worse|80": "rejected" });
    c.ack(again);
    expect(await c.settled()).toEqual([]);
    expect(states()).toEqual({ a: "acknowledged", bad: "rejected", c: "acknowledged", "worse|80": "rejected" });
    expect(nacks(events)).toMatchObject([
      { resources: ["bad", "worse|80"], reasons: { bad: "no EDS config", "worse|80": "duplicate of c: no" } },
    ]);
  });

  it("takes the reason from the end of a dump, and the name from its beginning", async () => {
    const { client, events } = await serve(routeType, { a: "1", bad: "1" });
    const c = client();
    c.subscribe(routeType, ["a", "bad"]);
    const dump = 'goo.gle/debugonly  \nname: "bad"\nvirtual_hosts {\n  name: "a"\n}\n';
    c.nack(await c.next(), `${dump}: Proto constraint validation failed (Domains: at least 1 item)`);
    expect((await c.next()).names).toEqual(["a"]);
    const reason = "Proto constraint validation failed (Domains: at least 1 item)";
    expect(nacks(events)).toMatchObject([{ resources: ["bad"], reasons: { bad: reason }, pending: ["a"] }]);
  });

  it("does not blame a resource that a message only mentions", async () => {
    const { client, states } = await serve(routeType, { a: "1", b: "1", c: "1" });
    const c = client();
    c.subscribe(routeType, ["a", "b", "c"]);
    c.nack(await c.next(), "duplicate entry in route b");
    const responses = await answer(c, (name) => name === "a");
    expect(states()).toEqual({ a: "rejected", b: "acknowledged", c: "acknowledged" });
    expect(responses.length).toBeLessThanOrEqual(4);
  });

  it("isolates a resource that is not named in halves, on a fresh client as well", async () => {
    const { client, states, events } = await serve(routeType, Object.fromEntries(alphabet.map((name) => [name, "1"])));
    const c = client();
    c.subscribe(routeType, alphabet);
    const responses = await answer(c, (name) => name === "f");
    expect(states()).toEqual(
      Object.fromEntries(alphabet.map((name) => [name, name === "f" ? "rejected" : "acknowledged"])),
    );
    expect(responses.length).toBe(1 + 2 * Math.log2(alphabet.length));
    expect(events.filter((event) => event.kind === "push" && event.isRetry === true).length).toBe(6);
  });

  it("sends a rejected version again after a delay that doubles, and a new version at once", async () => {
    const { client, clock, source, states } = await serve(listenerType, { busy: "1", good: "1" });
    const c = client();
    c.subscribe(listenerType);
    c.nack(
      await c.next(),
      "Error adding/updating listener(s) busy: cannot bind '0.0.0.0:80': Address already in use\n",
    );
    c.ack(await c.next());
    for (const delay of [500, 1000, 2000]) {
      expect(await c.settled()).toEqual([]);
      clock.advance(delay - 1);
      expect(await c.settled()).toEqual([]);
      clock.advance(1);
      const retry = await c.next();
      expect(retry.names).toEqual(delta ? ["busy"] : ["busy", "good"]);
      if (delay < 2000) c.nack(retry, "busy: in use");
      else c.ack(retry);
    }
    expect(await c.settled()).toEqual([]);
    expect(states()).toEqual({ busy: "acknowledged", good: "acknowledged" });
    source.put(listenerType, fakeResource("busy", "2"));
    c.nack(await c.next(), "busy: in use");
    await c.settled();
    source.put(listenerType, fakeResource("busy", "3"));
    const [next] = await c.settled();
    expect(next?.names).toContain("busy");
  });

  it("keeps the last accepted version, and removes a resource that was never accepted", async () => {
    const { client, source } = await serve(listenerType, { a: "1", b: "1" });
    const c = client();
    c.subscribe(listenerType);
    const first = await c.accept(listenerType);
    await c.settled();
    source.put(listenerType, fakeResource("a", "bad"), fakeResource("b", "2"), fakeResource("new", "bad"));
    c.nack(await c.next(), "Error adding/updating listener(s) a: no\nnew: no\n");
    const again = await c.next();
    c.ack(again);
    expect(again.names).toEqual(delta ? ["b"] : ["a", "b"]);
    const content = ({ resources }: ReceivedResponse) => resources.find(({ name }) => name === "a")?.bytes;
    if (!delta) expect(content(again)).toEqual(content(first));
    source.remove(listenerType, "new");
    const last = await c.next();
    expect(delta ? last.removed : last.names).toEqual(delta ? ["new"] : ["a", "b"]);
  });

  it("removes again what a rejected response removed", async () => {
    const { client, source } = await serve(listenerType, { a: "1", gone: "1" });
    const c = client();
    c.subscribe(listenerType);
    await c.accept(listenerType);
    await c.settled();
    source.set({ [listenerType]: [fakeResource("a", "bad")] });
    c.nack(await c.next(), "a: no");
    const again = await c.next();
    expect(again.removed).toEqual(delta ? ["gone"] : []);
    expect(again.names).toEqual(delta ? [] : ["a"]);
  });

  it("sends a bounded number of responses to a client that rejects everything, and goes on later", async () => {
    const names = Array.from({ length: 256 }, (_, n) => `r${n}`);
    const { client, clock, states } = await serve(routeType, Object.fromEntries(names.map((name) => [name, "1"])));
    const c = client();
    c.subscribe(routeType, names);
    const responses = await answer(c, () => true);
    expect(responses.length).toBe(33);
    expect(Object.values(states())).toContain("held back");
    let later = 0;
    for (let minute = 0; minute < 60; minute++) {
      clock.advance(60_000);
      later += (await answer(c, () => true)).length;
    }
    expect(later).toBeGreaterThan(32);
    expect(later).toBeLessThan(33 * 12);
  });

  it("finds many rejected resources among valid ones without a pause", async () => {
    const names = Array.from({ length: 512 }, (_, n) => `r${n}`);
    const isBad = (name: string): boolean => Number(name.slice(1)) % 32 === 7;
    const { client, states } = await serve(routeType, Object.fromEntries(names.map((name) => [name, "1"])));
    const c = client();
    c.subscribe(routeType, names);
    await answer(c, isBad);
    expect(states()).toEqual(
      Object.fromEntries(names.map((name) => [name, isBad(name) ? "rejected" : "acknowledged"])),
    );
  });
});

describe("a client that reconnects after a rejected response", () => {
  const listening = async (): Promise<Awaited<ReturnType<typeof setup>> & { readonly first: XdsClient }> => {
    const served = await setup("delta", "memory", { [listenerType]: [fakeResource("a", "1")] });
    const first = served.client();
    first.subscribe(listenerType);
    await first.accept(listenerType);
    await first.settled();
    served.source.put(listenerType, fakeResource("a", "2"), fakeResource("new", "1"), fakeResource("bad", "1"));
    first.nack(await first.next(), "bad: no");
    await first.next();
    first.close();
    return { ...served, first };
  };
  const versionOf = (name: string, text: string): string => fakeResource(name, text).version;

  it("is told that a listener does not exist that it may have and does not list", async () => {
    const { client, source } = await listening();
    source.set({ [listenerType]: [fakeResource("a", "2")] });
    const c = client();
    c.subscribe(listenerType, [], { a: versionOf("a", "1") });
    expect(new Set((await c.next()).removed)).toEqual(new Set(["new", "bad"]));
  });

  it("is sent a resource that it lists in the current version and may have in another one", async () => {
    const { client, source } = await listening();
    source.put(listenerType, fakeResource("a", "1"));
    const c = client();
    c.subscribe(listenerType, [], { a: versionOf("a", "1") });
    expect((await c.next()).names).toContain("a");
  });
});
