import { hash } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Cluster_DiscoveryType, ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { ClusterLoadAssignmentSchema } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { HttpConnectionManagerSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { type Resource, resource } from "@istiod/resources";
import type { Clock } from "@istiod/runtime";
import {
  clusterType,
  createXdsServer,
  endpointType,
  listenerType,
  type ResourceSets,
  routeType,
  staticSource,
  type StaticSource,
  type XdsEvent,
  type XdsServer,
} from "@istiod/xds-server";
import { EnvoyClient, type Target } from "@istiod/xds-server/testing";
import { afterEach, describe, expect, test, vi } from "vitest";
import { SimulatedProxy, type SimulatedProxyOptions } from "../src/client/simulated-proxy.js";

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of cleanUp.splice(0).reverse()) await end();
});

const eds = (name: string, altStatName = ""): Resource =>
  resource(
    name,
    toBinary(
      ClusterSchema,
      create(ClusterSchema, {
        name,
        altStatName,
        clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
        edsClusterConfig: { serviceName: `${name}-endpoints` },
      }),
    ),
  );
const fixed = (name: string): Resource =>
  resource(
    name,
    toBinary(
      ClusterSchema,
      create(ClusterSchema, { name, clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.STATIC } }),
    ),
  );
const endpoints = (clusterName: string, priority = 0): Resource =>
  resource(
    `${clusterName}-endpoints`,
    toBinary(
      ClusterLoadAssignmentSchema,
      create(ClusterLoadAssignmentSchema, { clusterName: `${clusterName}-endpoints`, endpoints: [{ priority }] }),
    ),
  );
const listener = (name: string, routeConfigName: string): Resource => {
  const manager = create(HttpConnectionManagerSchema, { routeSpecifier: { case: "rds", value: { routeConfigName } } });
  return resource(
    name,
    toBinary(
      ListenerSchema,
      create(ListenerSchema, {
        name,
        filterChains: [
          {
            filters: [
              {
                name: "http",
                configType: { case: "typedConfig", value: anyPack(HttpConnectionManagerSchema, manager) },
              },
            ],
          },
        ],
      }),
    ),
  );
};
const route = (name: string, domain = "*"): Resource =>
  resource(
    name,
    toBinary(
      RouteConfigurationSchema,
      create(RouteConfigurationSchema, { name, virtualHosts: [{ name: domain, domains: [domain] }] }),
    ),
  );

const mesh = (): ResourceSets => ({
  [clusterType]: [eds("a"), eds("b"), fixed("c")],
  [endpointType]: [endpoints("a"), endpoints("b"), endpoints("unasked")],
  [listenerType]: [listener("l", "r")],
  [routeType]: [route("r"), route("unasked")],
});

interface Setup {
  readonly source: StaticSource;
  readonly server: XdsServer;
  readonly target: Target;
  readonly events: XdsEvent[];
  readonly proxy: (more?: Partial<SimulatedProxyOptions>) => SimulatedProxy;
}

async function setup(variant: "delta" | "sotw", transport: "memory" | "http2", clock?: Clock): Promise<Setup> {
  const source = staticSource(mesh());
  const events: XdsEvent[] = [];
  const server = createXdsServer(source, { observe: (event) => events.push(event), ...(clock && { clock }) });
  cleanUp.push(() => server.close({ graceMs: 0 }));
  const target: Target = transport === "memory" ? server : await server.listen({ port: 0 });
  const node = toBinary(NodeSchema, create(NodeSchema, { id: "test" }));
  return {
    source,
    server,
    target,
    events,
    proxy: (more) => {
      const made = new SimulatedProxy({ target, variant, node, random: () => 0, ...more });
      cleanUp.push(() => made.drop());
      return made;
    },
  };
}

const complete = (proxy: SimulatedProxy): Promise<void> => vi.waitFor(() => expect(proxy.complete).toBe(true));
const names = (proxy: SimulatedProxy, typeUrl: string): Set<string> => new Set(proxy.held(typeUrl).keys());
const short = (typeUrl: string): string => typeUrl.slice(typeUrl.lastIndexOf(".") + 1);
const pushes = (events: readonly XdsEvent[]): string[] =>
  events.flatMap((event) =>
    event.kind === "push" && !event.typeUrl.startsWith("fence/") ? [`${short(event.typeUrl)} ${event.resources}`] : [],
  );
const digest = (bytes: Uint8Array): string => hash("sha1", bytes, "base64");

for (const transport of ["memory", "http2"] as const)
  for (const variant of ["delta", "sotw"] as const)
    describe(`a simulated proxy on ${variant} over ${transport}`, () => {
      test("asks in Envoy's order, for what clusters and listeners name and nothing else, and acknowledges all", async () => {
        const { proxy, events } = await setup(variant, transport);
        const p = proxy();
        p.connect();
        await complete(p);
        await p.settled();
        expect(pushes(events)).toEqual(["Cluster 3", "ClusterLoadAssignment 2", "Listener 1", "RouteConfiguration 1"]);
        expect(names(p, endpointType)).toEqual(new Set(["a-endpoints", "b-endpoints"]));
        expect(names(p, routeType)).toEqual(new Set(["r"]));
        expect(events.filter(({ kind }) => kind === "ack")).toHaveLength(4);
        expect(events.filter((event) => event.kind === "request" && event.stale)).toEqual([]);
      });

      test("follows clusters and routes that come and go", async () => {
        const { proxy, source, events } = await setup(variant, transport);
        const p = proxy();
        p.connect();
        await complete(p);
        source.set({
          ...mesh(),
          [clusterType]: [eds("b"), eds("d"), fixed("a")],
          [endpointType]: [endpoints("b"), endpoints("d")],
          [listenerType]: [listener("l", "s")],
          [routeType]: [route("s")],
        });
        await vi.waitFor(() => expect(names(p, routeType)).toEqual(new Set(["s"])));
        await p.settled();
        expect(names(p, endpointType)).toEqual(new Set(["b-endpoints", "d-endpoints"]));
        expect([...p.held(routeType).keys()]).toEqual(["s"]);
        expect(events.filter(({ kind }) => kind === "nack")).toEqual([]);
      });

      test("has the same as a client that keeps all bytes, whatever changed", async () => {
        const { proxy, source, target } = await setup(variant, transport);
        const p = proxy();
        const whole = new EnvoyClient(target, { variant, node: "whole" });
        cleanUp.push(() => whole.close());
        p.connect();
        await Promise.all([complete(p), whole.initialized()]);
        source.put(routeType, route("r", "other"));
        source.put(endpointType, endpoints("a", 1));
        source.set({
          ...mesh(),
          [clusterType]: [eds("a", "changed"), eds("d")],
          [endpointType]: [endpoints("a", 2), endpoints("d")],
        });
        await vi.waitFor(() => expect(names(p, endpointType)).toEqual(new Set(["a-endpoints", "d-endpoints"])));
        await p.settled();
        await whole.settled();
        for (const type of [clusterType, endpointType, listenerType, routeType]) {
          expect(new Map([...p.held(type)].map(([name, { digest }]) => [name, digest])), type).toEqual(
            new Map([...whole.resources(type)].map(([name, { bytes }]) => [name, digest(bytes)])),
          );
        }
      });

      test("returns with what it has", async () => {
        const { proxy, source, events } = await setup(variant, transport);
        const p = proxy();
        p.connect();
        await complete(p);
        p.drop();
        source.put(clusterType, fixed("new"));
        await vi.waitFor(() => expect(events.some(({ kind }) => kind === "disconnect")).toBe(true));
        events.splice(0);
        p.connect();
        await complete(p);
        await p.settled();
        const sent = pushes(events).sort();
        expect(sent).toEqual(
          variant === "delta"
            ? ["Cluster 1", "ClusterLoadAssignment 0", "Listener 0", "RouteConfiguration 0"]
            : ["Cluster 4", "ClusterLoadAssignment 2", "Listener 1", "RouteConfiguration 1"],
        );
        expect(p.held(clusterType).size).toBe(4);
      });

      test("goes on with what it had where it refuses", async () => {
        const { proxy, source, events } = await setup(variant, transport);
        let refuse = false;
        const p = proxy({
          events: { response: ({ typeUrl }) => (refuse && typeUrl === routeType ? "not this one" : undefined) },
        });
        p.connect();
        await complete(p);
        await p.settled();
        const before = p.held(routeType).get("r")?.digest;
        refuse = true;
        source.put(routeType, route("r", "refused"));
        await vi.waitFor(() =>
          expect(events.some((event) => event.kind === "nack" && event.error.message === "not this one")).toBe(true),
        );
        expect(p.held(routeType).get("r")?.digest).toBe(before);
        refuse = false;
        source.put(routeType, route("r", "accepted"));
        await vi.waitFor(() => expect(p.held(routeType).get("r")?.digest).toBe(digest(route("r", "accepted").bytes)));
      });
    });

describe("a simulated proxy", () => {
  test("waits with listeners until the endpoints came", async () => {
    const { proxy, source, events } = await setup("delta", "memory");
    source.set({ ...mesh(), [endpointType]: [endpoints("a")] });
    const asked: string[] = [];
    const p = proxy({ events: { response: ({ typeUrl }) => void asked.push(short(typeUrl)) } });
    p.connect();
    await vi.waitFor(() => expect(pushes(events).length).toBeGreaterThanOrEqual(2));
    source.put(endpointType, endpoints("b"));
    await complete(p);
    expect(asked.indexOf("Listener")).toBeGreaterThan(asked.lastIndexOf("ClusterLoadAssignment"));
  });

  test("that does not read is disconnected, and connects again by itself with what it has", async () => {
    const clock = new ManualClock();
    const { proxy, source, events } = await setup("delta", "memory", clock);
    const broken: string[] = [];
    const p = proxy({ events: { broken: (reason) => void broken.push(reason) } });
    p.connect();
    await complete(p);
    p.pause(true);
    const large = route("r", "x".repeat(200_000));
    source.put(routeType, large);
    await vi.waitFor(() => expect(pushes(events).at(-1)).toBe("RouteConfiguration 1"));
    await clock.pass(90_000, 1000);
    await vi.waitFor(() => expect(broken).toHaveLength(1));
    await vi.waitFor(() => expect(p.held(routeType).get("r")?.digest).toBe(digest(large.bytes)));
    expect(events.filter(({ kind }) => kind === "connect")).toHaveLength(2);
  });
});

/** Time that passes when the test says so. */
class ManualClock implements Clock {
  #now = 0;
  readonly #due = new Set<{ readonly at: number; readonly callback: () => void }>();

  now(): number {
    return this.#now;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + ms, callback };
    this.#due.add(timer);
    return () => this.#due.delete(timer);
  }

  async pass(ms: number, step: number): Promise<void> {
    for (const end = this.#now + ms; this.#now < end;) {
      this.#now += step;
      for (const timer of [...this.#due]) if (timer.at <= this.#now && this.#due.delete(timer)) timer.callback();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}
