import { toBinary } from "@bufbuild/protobuf";
import {
  differencesFromFresh,
  type IstiodProcess,
  nodeOf,
  type ProxyPlace,
  SimulatedProxy,
  type Tokens,
  untilSettled,
} from "@istiod/bench";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { answered, causeOfEnd, isConnectedTo, notConnected, opened, type ProxyState } from "./proxy-state.js";

/** A stream that ended while the istiod that had answered it was running. */
export interface LostStream {
  readonly proxy: string;
  readonly reason: string;
  /** Time and attack. */
  readonly context: string;
}

interface Member {
  readonly place: ProxyPlace;
  readonly variant: "delta" | "sotw";
  readonly proxy: SimulatedProxy;
  state: ProxyState;
}

/** Interval of pings; far longer than istiod or this process may be busy. */
const keepAliveMs = 15_000;

/** Honest proxies with tokens over TLS, half of them of each variant. */
export class HonestProxies {
  readonly lost: LostStream[] = [];
  readonly #context: () => string;
  /** Number of the start of istiod that runs, or of the next one. */
  #start = 1;
  readonly #tokens: Tokens;
  readonly #members: readonly Member[];
  #closed = false;

  /** @param context returns the time and the attack, for reports */
  constructor({ xds }: IstiodProcess, places: readonly ProxyPlace[], tokens: Tokens, context: () => string) {
    this.#tokens = tokens;
    this.#context = context;
    this.#members = places.map((place, at) => {
      const variant = at % 2 === 0 ? "delta" : "sotw";
      const proxy = new SimulatedProxy({
        target: { ...xds, keepAliveMs },
        variant,
        node: toBinary(NodeSchema, nodeOf(place)),
        headers: this.#headers(place),
        events: {
          opened: () => void (member.state = opened(this.#start)),
          received: () => void (member.state = answered(member.state)),
          broken: (reason) => this.#ended(member, reason),
        },
      });
      const member: Member = { place, variant, proxy, state: notConnected };
      return member;
    });
  }

  connect(): void {
    for (const { proxy } of this.#members) proxy.connect();
  }

  /** Records that istiod is being killed. Ends of its streams are due to that, whenever a proxy notices them. */
  killed(): void {
    this.#start++;
  }

  /** Returns the proxies that the last start of istiod has not answered for each type. */
  incomplete(): readonly string[] {
    return this.#members
      .filter(({ proxy, state }) => !proxy.complete || !isConnectedTo(state, this.#start))
      .map(({ place, variant, state }) => `${place.id} by ${variant}: ${describe(state)}`);
  }

  /** Compares what each proxy has with what a new istiod sends, and returns the differences. */
  async differences(fresh: IstiodProcess): Promise<readonly string[]> {
    const found: string[] = [];
    for (const { place, variant, proxy } of this.#members) {
      const settled = await untilSettled(proxy);
      const differences = await differencesFromFresh(
        { place, variant, proxy, settled },
        fresh.xds,
        this.#headers(place),
      );
      found.push(...differences.map((difference) => `${place.id} by ${variant}: ${difference}`));
    }
    return found;
  }

  close(): void {
    this.#closed = true;
    for (const { proxy } of this.#members) proxy.drop();
  }

  #headers(place: ProxyPlace): Readonly<Record<string, string>> {
    return { authorization: `Bearer ${this.#tokens.of(place)}` };
  }

  #ended(member: Member, reason: string): void {
    const cause = causeOfEnd(member.state, this.#start);
    member.state = notConnected;
    // An attempt may be rejected by the limit on new streams; the proxy must be served in time by a later one.
    if (this.#closed || cause !== "running") return;
    this.lost.push({ proxy: `${member.place.id} by ${member.variant}`, reason, context: this.#context() });
  }
}

function describe(state: ProxyState): string {
  return state.kind === "ended" ? "no stream" : `${state.kind} to start ${state.start}`;
}
