import { resource } from "@istiod/resources";
import { clusterType, endpointType, listenerType, staticSource } from "@istiod/xds-server";
import { EnvoyClient, fakeEdsCluster, fakeResource } from "@istiod/xds-server/testing";
import { describe, expect, it } from "vitest";
import { onEach, setup, transports } from "./harness.js";

onEach(transports, (variant, transport) => {
  if (variant === "sotw")
    it("a state-of-the-world client receives everything, with equal versions", async () => {
      const { client } = await setup(variant, transport, { [clusterType]: [fakeResource("a"), fakeResource("b")] });
      const first = client();
      first.subscribe(clusterType);
      const before = await first.accept(clusterType);
      first.close();
      const second = client();
      second.send({ typeUrl: clusterType, node: second.node, version: before.version });
      expect(await second.next()).toMatchObject({ names: ["a", "b"], version: before.version });
    });

  if (variant === "delta")
    describe("a delta client sends initial versions, and", () => {
      const sets = {
        [clusterType]: [fakeResource("a"), fakeResource("b", "1")],
        [endpointType]: [fakeResource("a"), fakeResource("b", "1")],
      };
      const versions = Object.fromEntries(sets[clusterType].map(({ name, version }) => [name, version]));

      it("receives an empty response, also from another server", async () => {
        const { client } = await setup(variant, transport, sets);
        const c = client();
        c.subscribe(clusterType, [], versions);
        expect(await c.next()).toMatchObject({ typeUrl: clusterType, names: [], removed: [] });
        c.subscribe(endpointType, ["a", "b"], versions);
        expect(await c.next()).toMatchObject({ typeUrl: endpointType, names: [], removed: [] });
      });

      it("receives changed resources and removals", async () => {
        const { client } = await setup(variant, transport, sets);
        const c = client();
        c.subscribe(clusterType, [], { ...versions, b: "old", gone: "1" });
        expect(await c.next()).toMatchObject({ names: ["b"], removed: ["gone"] });
      });

      it("receives resources that it names and lacks, and none that it has and does not name", async () => {
        const { client } = await setup(variant, transport, sets);
        const c = client();
        c.subscribe(endpointType, ["b", "gone"], { a: "old", gone: "1" });
        expect(await c.next()).toMatchObject({ names: ["b"], removed: ["gone"] });
      });

      it("receives removals although it has the whole set, and later changes", async () => {
        const { client, source } = await setup(variant, transport, sets);
        const c = client();
        c.subscribe(clusterType, [], versions);
        await c.accept(clusterType);
        c.subscribe(endpointType, ["a", "b", "gone"], versions);
        c.subscribe(listenerType);
        expect(await c.accept(endpointType)).toMatchObject({ names: [], removed: ["gone"] });
        source.put(endpointType, fakeResource("b", "2"));
        expect(await c.accept(endpointType)).toMatchObject({ names: ["b"], removed: [] });
        source.put(endpointType, fakeResource("gone"));
        expect(await c.accept(endpointType)).toMatchObject({ names: ["gone"], removed: [] });
      });

      it("receives later changes as if everything had been sent", async () => {
        const { client, source } = await setup(variant, transport, sets);
        const c = client();
        c.subscribe(clusterType, [], versions);
        await c.accept(clusterType);
        source.put(clusterType, fakeResource("b", "2"));
        expect((await c.next()).names).toEqual(["b"]);
      });

      it("receives unchanged endpoints of a cluster that has changed", async () => {
        const { client } = await setup(variant, transport, sets);
        const c = client();
        c.subscribe(clusterType, [], { ...versions, b: "old" });
        c.subscribe(endpointType, ["a", "b"], versions);
        expect((await c.next()).names).toEqual(["b"]);
        expect((await c.next()).names).toEqual(["b"]);
      });

      it("receives all endpoints if it requests them before clusters, because it is warming clusters", async () => {
        const { client } = await setup(variant, transport, sets);
        const c = client();
        c.subscribe(endpointType, ["a", "b"], versions);
        expect([...(await c.next()).names].sort()).toEqual(["a", "b"]);
        c.subscribe(clusterType, [], versions);
        expect(await c.next()).toMatchObject({ typeUrl: clusterType, names: [], removed: [] });
      });

      it("receives all endpoints again if it has no listeners yet, because it may be warming clusters", async () => {
        const { client } = await setup(variant, transport, sets);
        const c = client();
        c.subscribe(clusterType, [], versions);
        c.subscribe(endpointType, ["a", "b"], versions);
        await c.accept(clusterType);
        expect((await c.accept(endpointType)).names).toEqual([]);
        expect([...(await c.accept(endpointType)).names].sort()).toEqual(["a", "b"]);
        expect(await c.settled()).toEqual([]);
      });

      it("does not receive endpoints again if it has listeners", async () => {
        const { client } = await setup(variant, transport, { ...sets, [listenerType]: [fakeResource("l")] });
        const c = client();
        c.subscribe(clusterType, [], versions);
        c.subscribe(endpointType, ["a", "b"], versions);
        c.subscribe(listenerType);
        await c.accept(clusterType);
        await c.accept(endpointType);
        await c.accept(listenerType);
        expect(await c.settled()).toEqual([]);
      });

      it("can use names in other alphabets", async () => {
        const odd = ["naïve", "服务", "\u0000", "x".repeat(4000)].map((name) => fakeResource(name));
        const { client } = await setup(variant, transport, { [clusterType]: odd });
        const c = client();
        c.subscribe(clusterType, [], Object.fromEntries(odd.map(({ name, version }) => [name, version])));
        expect(await c.next()).toMatchObject({ names: [], removed: [] });
      });
    });

  it("a proxy that loses its stream between a changed cluster and its unchanged endpoints warms the cluster", async () => {
    const sets = {
      [clusterType]: [fakeEdsCluster("a", "1"), fakeEdsCluster("b", "1")],
      [endpointType]: [fakeResource("a", "1"), fakeResource("b", "1")],
    };
    const { target, source } = await setup(variant, transport, sets);
    const envoy = new EnvoyClient(target, { variant });
    await envoy.initialized();
    source.put(clusterType, fakeEdsCluster("a", "2"));
    await envoy.until(() => {
      if (envoy.warming.size === 0) return false;
      envoy.reconnect();
      return true;
    });
    await envoy.initialized();
    await envoy.settled();
    envoy.close();
    expect(envoy.warming.size).toBe(0);
  });

  it("a proxy that reconnects to another replica converges to that replica's state", async () => {
    const one = {
      [clusterType]: [fakeEdsCluster("a", "1"), fakeEdsCluster("b", "1")],
      [endpointType]: [fakeResource("a", "1"), fakeResource("b", "1")],
    };
    const two = {
      [clusterType]: [fakeEdsCluster("a", "1"), fakeEdsCluster("c", "1")],
      [endpointType]: [fakeResource("a", "2"), fakeResource("c", "1")],
    };
    const [first, second] = [
      await setup(variant, transport, one),
      await setup(variant, transport, two, {}, staticSource(two)),
    ];
    const envoy = new EnvoyClient(first.target, { variant });
    await envoy.initialized();
    envoy.reconnect(second.target);
    await envoy.initialized();
    await envoy.settled();
    envoy.close();
    expect([...envoy.resources(clusterType).keys()].sort()).toEqual(["a", "c"]);
    const endpoints = [...envoy.resources(endpointType).values()].map(({ name, bytes }) => [
      name,
      resource(name, bytes).version,
    ]);
    expect(endpoints.sort()).toEqual(two[endpointType].map(({ name, version }) => [name, version]));
  });
});
