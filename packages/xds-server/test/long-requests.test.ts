import { setImmediate as immediate } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import {
  DeltaDiscoveryRequestSchema,
  DiscoveryRequestSchema,
} from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import { ResourceSet } from "@istiod/resources";
import { type Clock, monotonicClock } from "@istiod/runtime";
import {
  clusterType,
  createXdsServer,
  endpointType,
  staticSource,
  type StaticSource,
  type XdsEvent,
  type XdsServer,
  type XdsServerOptions,
} from "@istiod/xds-server";
import { fakeResource } from "@istiod/xds-server/testing";
import { afterEach, describe, expect, it } from "vitest";
import { sliceNames } from "../src/sliced.js";
import type { CallHandler } from "../src/transport/call.js";
import { decodeRequest } from "../src/wire/request.js";
import { type Variant, variants } from "./harness.js";

const servers: XdsServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close({ graceMs: 0 });
});

/** A clock by which every slice takes the whole time of its turn. */
function slowClock(): Clock {
  let now = 0;
  return { now: () => (now += 10), after: monotonicClock.after.bind(monotonicClock) };
}

interface Setup {
  readonly source: StaticSource;
  readonly events: XdsEvent[];
  open(): Stream;
}

interface Stream {
  readonly handler: CallHandler;
  readonly responses: number;
  readonly error: string | undefined;
  request(typeUrl: string, names: readonly string[], versions?: Readonly<Record<string, string>>): Promise<void>;
}

function setup(variant: Variant, known: readonly string[], options: XdsServerOptions = {}): Setup {
  const events: XdsEvent[] = [];
  const source = staticSource({
    [endpointType]: ResourceSet.of(known.map((name) => fakeResource(name))),
    [clusterType]: [fakeResource("cluster")],
  });
  const server = createXdsServer(source, { observe: (event) => events.push(event), clock: slowClock(), ...options });
  servers.push(server);
  return { source, events, open: () => openStream(server, variant) };
}

function openStream(server: XdsServer, variant: Variant): Stream {
  let responses = 0;
  let error: string | undefined;
  const handler = server.accept({
    peer: { address: "10.0.0.1", port: 1, headers: {} },
    method: { variant, typeUrl: undefined },
    outstandingBytes: 0,
    copies: false,
    send: () => void responses++,
    end: (ended) => void (error = ended?.rawMessage),
    abort: () => undefined,
  });
  return {
    handler,
    get responses() {
      return responses;
    },
    get error() {
      return error;
    },
    request(typeUrl, names, versions = {}) {
      const common = { node: { id: "sidecar" }, typeUrl };
      const message =
        variant === "delta"
          ? toBinary(
              DeltaDiscoveryRequestSchema,
              create(DeltaDiscoveryRequestSchema, {
                ...common,
                resourceNamesSubscribe: [...names],
                initialResourceVersions: versions,
              }),
            )
          : toBinary(DiscoveryRequestSchema, create(DiscoveryRequestSchema, { ...common, resourceNames: [...names] }));
      return Promise.resolve(handler.request(decodeRequest(variant, Buffer.from(message)), message.length));
    },
  };
}

const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `name${i}`);

/** Returns the number of turns of the event loop until a promise settles or a condition holds. */
async function turnsUntil(event: Promise<void> | (() => boolean)): Promise<number> {
  let settled = false;
  let turns = 0;
  if (event instanceof Promise) void event.then(() => (settled = true));
  for (; !(event instanceof Promise ? settled : event()) && turns < 1000; turns++) await immediate();
  return turns;
}

describe.each(variants)("a long request over %s", (variant) => {
  const names = numbered(5 * sliceNames + 1);
  const known = names.slice(1);

  it("is applied in slices, with turns of the event loop in between", async () => {
    const { open } = setup(variant, known);
    const stream = open();
    await stream.request(clusterType, []);
    expect(await turnsUntil(stream.request(endpointType, names))).toBeGreaterThanOrEqual(6);
    expect(await turnsUntil(() => stream.responses === 2)).toBeLessThan(1000);
  });

  it("takes turns with others, while short requests are answered", async () => {
    const { events, open } = setup(variant, known);
    const streams = [open(), open(), open()];
    const other = open();
    for (const stream of [...streams, other]) await stream.request(clusterType, []);
    const long = Promise.all(streams.map((stream) => stream.request(endpointType, names)));
    const from = events.length;
    await other.request(endpointType, ["name7"]);
    const turns = await turnsUntil(long.then(() => undefined));
    expect(turns).toBeGreaterThanOrEqual(18);
    const requests = events.slice(from).filter(({ kind }) => kind === "request");
    const order = requests.map((event) => "connection" in event && event.connection);
    expect(order[0]).toBe("sidecar-4");
    expect(order.sort()).toEqual(["sidecar-1", "sidecar-2", "sidecar-3", "sidecar-4"]);
    expect(other.responses).toBe(2);
  });

  it("is complete before anything is sent, and a change in the meantime is not lost", async () => {
    const { source, events, open } = setup(variant, known);
    const stream = open();
    await stream.request(clusterType, []);
    await immediate();
    await immediate();
    expect(stream.responses).toBe(1);
    const long = stream.request(endpointType, names);
    await immediate();
    source.put(clusterType, fakeResource("another"));
    await immediate();
    await immediate();
    expect(stream.responses).toBe(1);
    await long;
    expect(await turnsUntil(() => stream.responses === 3)).toBeLessThan(1000);
    const pushed = events.flatMap((event) => (event.kind === "push" ? [[event.typeUrl, event.resources]] : []));
    expect(pushed.slice(1)).toEqual([
      [clusterType, variant === "delta" ? 1 : 2],
      [endpointType, known.length],
    ]);
  });

  it("ends with its stream", async () => {
    const { events, open } = setup(variant, known);
    const stream = open();
    await stream.request(clusterType, []);
    const from = events.length;
    const long = stream.request(endpointType, names);
    await immediate();
    stream.handler.closed("gone");
    expect(await turnsUntil(long)).toBeLessThanOrEqual(3);
    expect(events.slice(from).map(({ kind }) => kind)).not.toContain("request");
  });
});

it("what an unfinished request holds is charged, so that many at once are ended", async () => {
  const limits = { unauthenticated: { totalUnmatchedBytes: 4 * sliceNames * 256 } };
  const { events, open } = setup("delta", numbered(10), { limits });
  const streams = Array.from({ length: 8 }, () => open());
  for (const stream of streams) await stream.request(endpointType, ["name1"]);
  const from = events.length;
  const versions = Object.fromEntries(numbered(4 * sliceNames).map((name) => [`unknown-${name}`, "1"]));
  const turns = await turnsUntil(
    Promise.all(streams.map((stream) => stream.request(clusterType, [], versions))).then(() => undefined),
  );
  expect(turns).toBeLessThan(100);
  const ended = streams.filter(({ error }) => error?.startsWith("all streams together have more than") === true);
  expect(ended.length).toBeGreaterThanOrEqual(6);
  expect(events.slice(from).filter(({ kind }) => kind === "request").length).toBe(8 - ended.length);
});
