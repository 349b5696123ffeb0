import { setTimeout as wait } from "node:timers/promises";
import { toBinary } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { clusterType, endpointType, listenerType, routeType, type Variant } from "@istiod/xds-server";
import type { Address } from "@istiod/xds-server/testing";
import { type CountedResponse, SimulatedProxy } from "../client/simulated-proxy.js";
import { nodeOf, type ProxyPlace } from "../mesh/proxies.js";
import type { Random } from "../mesh/random.js";

type Habit = "well" | "slow" | "refusing";

interface Member {
  readonly place: ProxyPlace;
  readonly variant: Variant;
  readonly habit: Habit;
  proxy: SimulatedProxy;
}

/** How often what happened to the fleet. */
export interface FleetCounts {
  responses: number;
  bytes: number;
  refused: number;
  returned: number;
  replaced: number;
  paused: number;
  /** Streams that the server ended. */
  ended: number;
}

/** A proxy and what it should be compared by. */
export interface Settled {
  readonly place: ProxyPlace;
  readonly variant: Variant;
  readonly proxy: SimulatedProxy;
  /** False if the server still owed it something when the time was over. */
  readonly settled: boolean;
}

const types = [clusterType, endpointType, listenerType, routeType];
/** Of the responses to a proxy that refuses, this part is refused, once it has something to go on with. */
const refusedPart = 0.3;
const settleMs = 120_000;

/** Proxies that connect, go away and return; one in 39 stops reading for a while, one in 39 refuses what it is sent. */
export class ChurningFleet {
  readonly counts: FleetCounts = { responses: 0, bytes: 0, refused: 0, returned: 0, replaced: 0, paused: 0, ended: 0 };
  readonly #address: Address;
  readonly #random: Random;
  readonly #members: Member[];
  #calm = false;

  constructor(address: Address, places: readonly ProxyPlace[], random: Random) {
    this.#address = address;
    this.#random = random;
    this.#members = places.map((place, at) => {
      const who = { place, variant: at % 2 === 0 ? "delta" : "sotw", habit: habits[at % 39] ?? "well" } as const;
      return { ...who, proxy: this.#made(who) };
    });
  }

  /** Connects all, and waits until each has everything. */
  async connect(): Promise<void> {
    for (const { proxy } of this.#members) proxy.connect();
    while (!this.#members.every(({ proxy }) => proxy.complete)) await wait(50);
  }

  /** Somebody goes; with what it has, or as a new one, it is back after up to ten seconds. */
  comeAndGo(): void {
    const member = this.#random.pick(this.#members);
    if (!member.proxy.connected) return;
    member.proxy.drop();
    const returns = this.#random.chance(0.5);
    setTimeout(() => {
      if (this.#calm) return;
      if (returns) this.counts.returned++;
      else {
        this.counts.replaced++;
        member.proxy = this.#made(member);
      }
      member.proxy.connect();
    }, this.#random.below(10_000)).unref();
  }

  /** One who is slow stops reading for up to 90 seconds: istiod gives up who has not read for 60. */
  dawdle(): void {
    const slow = this.#members.filter(({ habit }) => habit === "slow");
    if (slow.length === 0) return;
    const { proxy } = this.#random.pick(slow);
    this.counts.paused++;
    proxy.pause(true);
    setTimeout(() => proxy.pause(false), this.#random.below(90_000)).unref();
  }

  /**
   * From now on all read and accept. Those who refused something connect again; gives what each has once the server
   * owes nothing.
   */
  async settle(): Promise<readonly Settled[]> {
    this.#calm = true;
    return Promise.all(
      this.#members.map(async ({ place, variant, habit, proxy }) => {
        proxy.pause(false);
        if (habit === "refusing" || !proxy.connected) proxy.connect();
        return { place, variant, proxy, settled: await settled(proxy) };
      }),
    );
  }

  close(): void {
    this.#calm = true;
    for (const { proxy } of this.#members) proxy.drop();
  }

  #made({ place, variant, habit }: Pick<Member, "place" | "variant" | "habit">): SimulatedProxy {
    const response = ({ typeUrl, bytes }: CountedResponse): string | undefined => {
      this.counts.responses++;
      this.counts.bytes += bytes;
      const hasSome = proxy.held(typeUrl).size > 0 && proxy.complete;
      if (habit !== "refusing" || !hasSome || this.#calm || !this.#random.chance(refusedPart)) return undefined;
      this.counts.refused++;
      return "refused by the benchmark";
    };
    const broken = (): void => void (this.#calm || this.counts.ended++);
    const random = (): number => this.#random.unit();
    const proxy: SimulatedProxy = newProxy(this.#address, place, variant, { events: { response, broken }, random });
    return proxy;
  }
}

/** Who of 39, an odd number so that there are such of both variants. */
const habits: Readonly<Record<number, Habit>> = { 5: "slow", 8: "refusing" };

function newProxy(
  target: Address,
  place: ProxyPlace,
  variant: Variant,
  more: Partial<ConstructorParameters<typeof SimulatedProxy>[0]> = {},
): SimulatedProxy {
  return new SimulatedProxy({ target, variant, node: toBinary(NodeSchema, nodeOf(place)), ...more });
}

/** Waits until a proxy has all it needs and the server owes it nothing. False if that takes too long. */
async function settled(proxy: SimulatedProxy): Promise<boolean> {
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
 * In what a proxy differs from what a server gives to a new one of the same place, as sentences; empty if it has the
 * same names and bytes.
 */
export async function differencesFromFresh(
  { place, proxy, settled: isSettled }: Settled,
  server: Address,
): Promise<string[]> {
  const fresh = newProxy(server, place, "delta");
  fresh.connect();
  try {
    if (!(await settled(fresh))) return ["a fresh proxy did not get all that it needs"];
    return [...(isSettled ? [] : ["the server still owed it something"]), ...differences(proxy, fresh)];
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
