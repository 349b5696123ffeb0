import { setTimeout as wait } from "node:timers/promises";
import { toBinary } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { clusterType, endpointType, listenerType, routeType, type Variant } from "@istiod/xds-server";
import type { Address } from "@istiod/xds-server/testing";
import { type CountedResponse, SimulatedProxy } from "../client/simulated-proxy.js";
import { nodeOf, type ProxyPlace } from "../mesh/proxies.js";
import type { Random } from "../mesh/random.js";

type Habit = "normal" | "slow" | "rejecting";

interface Member {
  readonly place: ProxyPlace;
  readonly variant: Variant;
  readonly habit: Habit;
  proxy: SimulatedProxy;
}

/** Counts of events of the fleet. */
export interface FleetCounts {
  responses: number;
  bytes: number;
  refused: number;
  returned: number;
  replaced: number;
  paused: number;
  /** Streams that the server closed. */
  ended: number;
}

/** A proxy at the end of a run, to compare with a new one. */
export interface SettledProxy {
  readonly place: ProxyPlace;
  readonly variant: Variant;
  readonly proxy: SimulatedProxy;
  /** False if responses were outstanding at the timeout. */
  readonly settled: boolean;
}

const types = [clusterType, endpointType, listenerType, routeType];
/** The share of responses that a rejecting proxy rejects, once it has accepted a first configuration. */
const rejectionRate = 0.3;
const settleMs = 120_000;
/** Milliseconds in which all proxies must have what they need after the start. */
const connectMs = 600_000;

/** Proxies that connect and disconnect. One in 39 pauses reading, and one in 39 rejects responses. */
export class ChurningFleet {
  readonly counts: FleetCounts = { responses: 0, bytes: 0, refused: 0, returned: 0, replaced: 0, paused: 0, ended: 0 };
  readonly #address: Address;
  readonly #random: Random;
  readonly #members: Member[];
  #settling = false;

  constructor(address: Address, places: readonly ProxyPlace[], random: Random) {
    this.#address = address;
    this.#random = random;
    this.#members = places.map((place, at) => {
      const member = { place, variant: at % 2 === 0 ? "delta" : "sotw", habit: habits[at % 39] ?? "normal" } as const;
      return { ...member, proxy: this.#simulate(member) };
    });
  }

  /**
   * Connects all proxies, and waits until each has all resources that it needs.
   *
   * @throws Error with the number of proxies that lack some when the time is over
   */
  async connect(): Promise<void> {
    for (const { proxy } of this.#members) proxy.connect();
    const lacking = (): number => this.#members.filter(({ proxy }) => !proxy.complete).length;
    for (const until = Date.now() + connectMs; lacking() > 0; await wait(50))
      if (Date.now() > until)
        throw new Error(`${lacking()} of ${this.#members.length} proxies lack resources after ${connectMs / 1000} s`);
  }

  /** Disconnects a random proxy for up to ten seconds. It returns with its state or, as often, as a new proxy. */
  reconnectOne(): void {
    const member = this.#random.pick(this.#members);
    if (!member.proxy.connected) return;
    member.proxy.drop();
    const returns = this.#random.chance(0.5);
    setTimeout(() => {
      if (this.#settling) return;
      if (returns) this.counts.returned++;
      else {
        this.counts.replaced++;
        member.proxy = this.#simulate(member);
      }
      member.proxy.connect();
    }, this.#random.below(10_000)).unref();
  }

  /** Makes a slow proxy stop reading for up to 90 seconds. istiod closes streams that stall for 60. */
  pauseOne(): void {
    const slow = this.#members.filter(({ habit }) => habit === "slow");
    if (slow.length === 0) return;
    const { proxy } = this.#random.pick(slow);
    this.counts.paused++;
    proxy.pause(true);
    setTimeout(() => proxy.pause(false), this.#random.below(90_000)).unref();
  }

  /**
   * Makes all proxies read and accept everything, and reconnects those that rejected responses. Returns the proxies
   * once no response is outstanding.
   */
  async settle(): Promise<readonly SettledProxy[]> {
    this.#settling = true;
    return Promise.all(
      this.#members.map(async ({ place, variant, habit, proxy }) => {
        proxy.pause(false);
        if (habit === "rejecting" || !proxy.connected) proxy.connect();
        return { place, variant, proxy, settled: await untilSettled(proxy) };
      }),
    );
  }

  close(): void {
    this.#settling = true;
    for (const { proxy } of this.#members) proxy.drop();
  }

  #simulate({ place, variant, habit }: Pick<Member, "place" | "variant" | "habit">): SimulatedProxy {
    const response = ({ typeUrl, bytes }: CountedResponse): string | undefined => {
      this.counts.responses++;
      this.counts.bytes += bytes;
      const hasSome = proxy.held(typeUrl).size > 0 && proxy.complete;
      if (habit !== "rejecting" || !hasSome || this.#settling || !this.#random.chance(rejectionRate)) return undefined;
      this.counts.refused++;
      return "rejected by the benchmark";
    };
    const broken = (): void => void (this.#settling || this.counts.ended++);
    const random = (): number => this.#random.unit();
    const proxy: SimulatedProxy = newProxy(this.#address, place, variant, { events: { response, broken }, random });
    return proxy;
  }
}

/** Habits by position among 39 proxies: an odd number, so that each habit occurs with both protocol variants. */
const habits: Readonly<Record<number, Habit>> = { 5: "slow", 8: "rejecting" };

function newProxy(
  target: Address,
  place: ProxyPlace,
  variant: Variant,
  more: Partial<ConstructorParameters<typeof SimulatedProxy>[0]> = {},
): SimulatedProxy {
  return new SimulatedProxy({ target, variant, node: toBinary(NodeSchema, nodeOf(place)), ...more });
}

/** Waits until a proxy has all it needs and no response is outstanding. Returns false on timeout. */
export async function untilSettled(proxy: SimulatedProxy): Promise<boolean> {
  for (const until = Date.now() + settleMs; Date.now() < until; await wait(50)) {
    if (!proxy.complete) continue;
    const late = wait(until - Date.now(), false, { ref: false });
    if (
      await Promise.race([
        proxy.settled().then(
          () => true,
          () => false,
        ),
        late,
      ])
    )
      return true;
  }
  return false;
}

/**
 * Compares a proxy with a new one of the same workload at another server. Returns the differences in names and bytes of
 * resources, one sentence each.
 */
export async function differencesFromFresh(
  { place, proxy, settled: isSettled }: SettledProxy,
  server: Address,
  headers: Readonly<Record<string, string>> = {},
): Promise<string[]> {
  const fresh = newProxy(server, place, "delta", { headers });
  fresh.connect();
  try {
    if (!(await untilSettled(fresh))) return ["a new proxy did not receive all resources that it needs"];
    return [...(isSettled ? [] : ["responses were outstanding at the timeout"]), ...differences(proxy, fresh)];
  } finally {
    fresh.drop();
  }
}

function differences(proxy: SimulatedProxy, fresh: SimulatedProxy): string[] {
  return types.flatMap((type) => {
    const has = proxy.held(type);
    const should = fresh.held(type);
    const short = type.slice(type.lastIndexOf(".") + 1);
    const missing = [...should.keys()].filter((name) => !has.has(name)).map((name) => `${short} ${name} is missing`);
    const extra = [...has.keys()].filter((name) => !should.has(name)).map((name) => `${short} ${name} should be gone`);
    const other = [...should].filter(([name, { digest }]) => has.has(name) && has.get(name)?.digest !== digest);
    return [...missing, ...extra, ...other.map(([name]) => `${short} ${name} is not the latest`)];
  });
}
