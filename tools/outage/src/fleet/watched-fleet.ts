import { toBinary } from "@bufbuild/protobuf";
import { differencesFromFresh, nodeOf, type ProxyPlace, SimulatedProxy, untilSettled } from "@istiod/bench";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { clusterType, endpointType, listenerType, routeType, type Variant } from "@istiod/xds-server";
import type { Address } from "@istiod/xds-server/testing";
import { LossMonitor } from "./loss-monitor.js";

interface Member {
  readonly place: ProxyPlace;
  readonly variant: Variant;
  readonly proxy: SimulatedProxy;
}

const types = [clusterType, endpointType, listenerType, routeType];

/** Proxies on streams of both variants, with a record of what responses take from them. */
export class WatchedFleet {
  readonly monitor = new LossMonitor();
  readonly #members: readonly Member[];

  /** @param places each gets a proxy of either variant */
  constructor(target: Address, places: readonly ProxyPlace[]) {
    this.#members = places.flatMap((place) =>
      (["delta", "sotw"] as const).map((variant) => {
        const proxy = new SimulatedProxy({
          target,
          variant,
          node: toBinary(NodeSchema, nodeOf(place)),
          events: { received: (message) => this.monitor.receive(`${place.id} by ${variant}`, variant, message) },
        });
        return { place, variant, proxy };
      }),
    );
  }

  connect(): void {
    for (const { proxy } of this.#members) proxy.connect();
  }

  /** Returns the number of proxies without a stream, or without an answer for a type that they need. */
  get incomplete(): number {
    return this.#members.filter(({ proxy }) => !proxy.connected || !proxy.complete).length;
  }

  /** Compares what the proxies have with what new proxies receive from another istiod. Returns the differences. */
  async differences(fresh: Address): Promise<readonly string[]> {
    const found = await Promise.all(
      this.#members.map(async ({ place, variant, proxy }) => {
        const settled = await untilSettled(proxy);
        const differences = await differencesFromFresh({ place, variant, proxy, settled }, fresh);
        return differences.map((difference) => `${place.id} by ${variant}: ${difference}`);
      }),
    );
    return found.flat();
  }

  /** Returns digests of everything that the proxies have. */
  digests(): ReadonlyMap<string, string> {
    return new Map(
      this.#members.flatMap(({ place, variant, proxy }) =>
        types.flatMap((type) =>
          [...proxy.held(type)].map(
            ([name, { digest }]) => [`${place.id} by ${variant}: ${type} ${name}`, digest] as const,
          ),
        ),
      ),
    );
  }

  close(): void {
    for (const { proxy } of this.#members) proxy.drop();
  }
}
