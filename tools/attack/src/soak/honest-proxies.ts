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

interface Member {
  readonly place: ProxyPlace;
  readonly variant: "delta" | "sotw";
  readonly proxy: SimulatedProxy;
}

/** Interval of pings; far longer than istiod or this process may be busy. */
const keepAliveMs = 15_000;

/** Honest proxies with tokens over TLS, half of them of each variant. */
export class HonestProxies {
  /** Reasons for the ends of streams while istiod was running. */
  readonly reasons = new Map<string, number>();
  /** Set while the proxies connect for the first time or after istiod was killed: new streams are limited in rate. */
  expectsLoss = false;
  readonly #tokens: Tokens;
  readonly #members: readonly Member[];
  #closed = false;

  constructor({ xds }: IstiodProcess, places: readonly ProxyPlace[], tokens: Tokens) {
    this.#tokens = tokens;
    this.#members = places.map((place, at) => {
      const variant = at % 2 === 0 ? "delta" : "sotw";
      const proxy = new SimulatedProxy({
        target: { ...xds, keepAliveMs },
        variant,
        node: toBinary(NodeSchema, nodeOf(place)),
        headers: this.#headers(place),
        events: { broken: (reason) => this.#broken(reason) },
      });
      return { place, variant, proxy };
    });
  }

  connect(): void {
    for (const { proxy } of this.#members) proxy.connect();
  }

  /** Returns the proxies without a stream, or without an answer for a type. */
  incomplete(): readonly string[] {
    return this.#members
      .filter(({ proxy }) => !proxy.connected || !proxy.complete)
      .map(({ place, variant, proxy }) => `${place.id} by ${variant}: ${proxy.connected ? "no answer" : "no stream"}`);
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

  #broken(reason: string): void {
    if (this.#closed || this.expectsLoss) return;
    this.reasons.set(reason, (this.reasons.get(reason) ?? 0) + 1);
  }
}
