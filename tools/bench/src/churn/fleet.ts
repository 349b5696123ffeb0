import { create } from "@bufbuild/protobuf";
import { type Node, NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { clusterType, endpointType, listenerType, routeType, type Variant } from "@istiod/xds-server";
import { type Address, EnvoyClient, type ReceivedResponse, type XdsClient } from "@istiod/xds-server/testing";
import type { Random } from "./random.js";

/** Where a proxy lives. */
export interface Place {
  readonly name: string;
  readonly namespace: string;
  readonly ip: string;
}

type Habit = "well" | "slow" | "refusing";

interface Member {
  readonly place: Place;
  readonly variant: Variant;
  readonly habit: Habit;
  client: EnvoyClient | undefined;
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

const types = [clusterType, endpointType, listenerType, routeType];
/** Of the responses to a proxy that refuses, this part is refused, once it has something to go on with. */
const refusedPart = 0.3;

/** Proxies that connect, go away and return; one in 39 stops reading for a while, one in 39 refuses what it is sent. */
export class Fleet {
  readonly counts: FleetCounts = { responses: 0, bytes: 0, refused: 0, returned: 0, replaced: 0, paused: 0, ended: 0 };
  readonly #address: Address;
  readonly #random: Random;
  readonly #members: Member[];
  /** Streams that ended, by whomever. */
  readonly #over = new WeakSet<XdsClient>();
  #calm = false;

  constructor(address: Address, places: readonly Place[], random: Random) {
    this.#address = address;
    this.#random = random;
    this.#members = places.map((place, at) => ({ place, variant: at % 2 === 0 ? "delta" : "sotw", habit: habits[at % 39] ?? "well", client: undefined }));
  }

  /** Connects all, some at a time, and waits until each has everything. */
  async connect(): Promise<void> {
    const queue = [...this.#members];
    const connecting = async (): Promise<void> => {
      for (let member = queue.pop(); member !== undefined; member = queue.pop()) {
        const client = this.#open(member);
        await client.initialized();
      }
    };
    await Promise.all(Array.from({ length: 8 }, connecting));
  }

  /** Somebody goes; with what it has, or as a new one, it is back after up to ten seconds. */
  comeAndGo(): void {
    const member = this.#random.pick(this.#members);
    const { client } = member;
    if (client === undefined) return;
    client.close();
    member.client = undefined;
    const returns = this.#random.chance(0.5);
    setTimeout(() => {
      if (returns) {
        this.counts.returned++;
        client.reconnect();
        member.client = client;
        this.#follow(member, client);
      } else {
        this.counts.replaced++;
        this.#open(member);
      }
    }, this.#random.below(10_000));
  }

  /** One who is slow stops reading for up to 90 seconds: istiod gives up who has not read for 60. */
  dawdle(): void {
    const slow = this.#members.filter(({ habit }) => habit === "slow");
    if (slow.length === 0) return;
    const { client } = this.#random.pick(slow);
    if (client === undefined) return;
    this.counts.paused++;
    client.xds.pause(true);
    setTimeout(() => client.xds.pause(false), this.#random.below(90_000));
  }

  /** From now on all read and accept. Those who refused something connect again; gives what each has once the server owes nothing. */
  async settle(): Promise<readonly { readonly place: Place; readonly variant: Variant; readonly client: EnvoyClient }[]> {
    this.#calm = true;
    const settled = [];
    for (const member of this.#members) {
      const { client = this.#open(member) } = member;
      client.xds.pause(false);
      // One who refused the endpoints of a changed cluster goes on waiting for them, as they are what it has: no wait for `initialized` here.
      if (member.habit === "refusing" || this.#over.has(client.xds)) client.reconnect();
      await client.until(() => client.resources(routeType).size > 0);
      await client.settled();
      settled.push({ place: member.place, variant: member.variant, client });
    }
    return settled;
  }

  close(): void {
    this.#calm = true;
    for (const { client } of this.#members) client?.close();
  }

  #open(member: Member): EnvoyClient {
    const take = ({ typeUrl, bytes }: ReceivedResponse): string | undefined => {
      this.counts.responses++;
      this.counts.bytes += bytes;
      const complete = client.resources(routeType).size > 0 && client.resources(typeUrl).size > 0;
      if (member.habit !== "refusing" || !complete || this.#calm || !this.#random.chance(refusedPart)) return undefined;
      this.counts.refused++;
      return "refused by the benchmark";
    };
    const client: EnvoyClient = new EnvoyClient(this.#address, { variant: member.variant, node: nodeOf(member.place), history: 0, reject: take });
    member.client = client;
    this.#follow(member, client);
    return client;
  }

  /** As Envoy does, connects again if the server ends the stream. */
  #follow(member: Member, client: EnvoyClient): void {
    const { xds } = client;
    void xds.ended.then(() => {
      this.#over.add(xds);
      if (this.#calm || member.client !== client || client.xds !== xds) return;
      this.counts.ended++;
      setTimeout(() => {
        if (this.#calm || member.client !== client || client.xds !== xds) return;
        client.reconnect();
        this.#follow(member, client);
      }, 1000);
    });
  }
}

/** Who of 39, an odd number so that there are such of both variants. */
const habits: Readonly<Record<number, Habit>> = { 5: "slow", 8: "refusing" };

export function nodeOf({ name, namespace, ip }: Place): Node {
  return create(NodeSchema, {
    id: `sidecar~${ip}~${name}-${ip.replaceAll(".", "-")}.${namespace}~${namespace}.svc.cluster.local`,
    cluster: `${name}.${namespace}`,
    metadata: { NAMESPACE: namespace, CLUSTER_ID: "Kubernetes", SERVICE_ACCOUNT: name, LABELS: { app: name, version: "v1" } },
  });
}

/** In what two proxies differ, as sentences; empty if they have the same names and bytes. */
export function differences(proxy: EnvoyClient, fresh: EnvoyClient): string[] {
  return types.flatMap((type) => {
    const has = proxy.resources(type);
    const should = fresh.resources(type);
    const short = type.slice(type.lastIndexOf(".") + 1);
    const missing = [...should.keys()].filter((name) => !has.has(name)).map((name) => `${short} ${name} is missing`);
    const extra = [...has.keys()].filter((name) => !should.has(name)).map((name) => `${short} ${name} should be gone`);
    const other = [...should].filter(([name, { bytes }]) => has.has(name) && Buffer.compare(bytes, has.get(name)?.bytes ?? new Uint8Array()) !== 0);
    return [...missing, ...extra, ...other.map(([name]) => `${short} ${name} is not the latest`)];
  });
}
