import { toBinary } from "@bufbuild/protobuf";
import { differencesFromFresh, nodeOf, type ProxyPlace, SimulatedProxy, untilSettled } from "@istiod/bench";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { eventually, LossMonitor } from "@istiod/outage";
import { type Address, decodeResponse } from "@istiod/xds-server/testing";
import { ResentBytes } from "./resent-bytes.js";

/** Bytes of responses until the proxy has an answer for each type. */
export interface StreamBytes {
  /** Number of times that a proxy lost its stream and was complete again, be it after several further streams. */
  readonly streams: number;
  /** Of the first stream of each of these proxies. */
  readonly first: number;
  /** Of the further streams, without what the proxies did not have yet. */
  readonly resent: number;
}

interface Member {
  readonly place: ProxyPlace;
  readonly proxy: SimulatedProxy;
  /** Bytes of the first stream until it was complete; 0 before. */
  first: number;
  /** Bytes of the current stream until it is complete. */
  received: number;
  /** Counts what it receives again, from the loss of its stream until it is complete. */
  resent: ResentBytes;
  isComplete: boolean;
}

/** Milliseconds between pings. */
const keepAliveMs = 15_000;
/** Every tenth proxy is followed in detail. */
const followed = 10;
const comparedAtOnce = 8;
const moveMs = 60_000;

/** Proxies on delta streams over TLS, with tokens. */
export class Fleet {
  readonly monitor = new LossMonitor();
  readonly #members: readonly Member[];
  #reconnections: { readonly first: number; readonly resent: number }[] = [];

  /** @param target read for every connection @param tokens by `namespace/serviceAccount` */
  constructor(target: () => Address, places: readonly ProxyPlace[], tokens: ReadonlyMap<string, string>) {
    this.#members = places.map((place, at) => {
      const token = tokens.get(`${place.namespace}/${place.serviceAccount}`) ?? "";
      const proxy = new SimulatedProxy({
        target: addressOf(target),
        variant: "delta",
        node: toBinary(NodeSchema, nodeOf(place)),
        headers: { authorization: `Bearer ${token}` },
        events: {
          opened: () => this.#opened(member),
          received: (message) => this.#received(member, message, at % followed === 0),
          complete: () => this.#complete(member),
        },
      });
      const member: Member = { place, proxy, first: 0, received: 0, resent: new ResentBytes(), isComplete: false };
      return member;
    });
  }

  get size(): number {
    return this.#members.length;
  }

  connect(): void {
    for (const { proxy } of this.#members) proxy.connect();
  }

  /** Returns the number of proxies without a stream, or without an answer for a type that they need. */
  get incomplete(): number {
    return this.#members.filter(({ proxy }) => !proxy.connected || !proxy.complete).length;
  }

  /** Returns the bytes of the streams after the first ones that were completed since the last call. */
  takeReconnections(): StreamBytes {
    const taken = this.#reconnections;
    this.#reconnections = [];
    const sum = (key: "first" | "resent"): number => taken.reduce((total, each) => total + each[key], 0);
    return { streams: taken.length, first: sum("first"), resent: sum("resent") };
  }

  /** Connects each proxy to the current target, one after the other. A proxy keeps what it has. */
  async moveOneByOne(): Promise<void> {
    for (const { proxy } of this.#members) {
      proxy.connect();
      await eventually(() => (proxy.complete ? undefined : "a proxy has no answer"), moveMs);
    }
  }

  /** Compares what the proxies have with what new proxies receive from another istiod. Returns the differences. */
  async differences(fresh: Address): Promise<readonly string[]> {
    const waiting = [...this.#members];
    const found: string[] = [];
    const compare = async (): Promise<void> => {
      for (let member = waiting.pop(); member !== undefined; member = waiting.pop()) {
        const { place, proxy } = member;
        const settled = await untilSettled(proxy);
        const differences = await differencesFromFresh({ place, variant: "delta", proxy, settled }, fresh);
        found.push(...differences.map((difference) => `${place.id}: ${difference}`));
      }
    };
    await Promise.all(Array.from({ length: comparedAtOnce }, compare));
    return found;
  }

  close(): void {
    for (const { proxy } of this.#members) proxy.drop();
  }

  #opened(member: Member): void {
    // Streams that end before they are complete belong to one reconnection.
    if (member.isComplete) member.resent = new ResentBytes();
    member.isComplete = false;
    member.received = 0;
  }

  #received(member: Member, message: Uint8Array, isFollowed: boolean): void {
    if (member.isComplete && !isFollowed) return;
    const response = decodeResponse("delta", message);
    if (isFollowed) this.monitor.receiveDecoded(member.place.id, "delta", response);
    if (member.isComplete || !member.proxy.connected) return;
    member.received += message.length;
    if (member.first > 0) member.resent.add(response, member.proxy.held(response.typeUrl));
  }

  #complete(member: Member): void {
    member.isComplete = true;
    if (member.first === 0) member.first = member.received;
    else this.#reconnections.push({ first: member.first, resent: member.resent.bytes });
  }
}

/** Returns an address that is read again for every connection. */
function addressOf(target: () => Address): Address {
  return {
    get host() {
      return target().host;
    },
    get port() {
      return target().port;
    },
    get tls() {
      return target().tls ?? {};
    },
    keepAliveMs,
  };
}
