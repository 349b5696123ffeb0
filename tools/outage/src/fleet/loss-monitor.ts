import { clusterType, listenerType, type Variant } from "@istiod/xds-server";
import { decodeResponse, type ReceivedResponse } from "@istiod/xds-server/testing";
import { partsOf } from "./parts.js";

/** Configuration that a proxy had and was taken from it. */
export interface Loss {
  readonly proxy: string;
  readonly typeUrl: string;
  readonly resource: string;
  /** For example an endpoint. Absent: the whole resource. */
  readonly part?: string;
}

type Resources = Map<string, ReadonlySet<string>>;

/** Follows what proxies have, and records everything that a response takes from one. */
export class LossMonitor {
  /** Number of responses. */
  responses = 0;
  #losses: Loss[] = [];
  #isExpected: (loss: Loss) => boolean = () => false;
  readonly #held = new Map<string, Map<string, Resources>>();

  /** Returns the unexpected losses since the last call. */
  take(): readonly Loss[] {
    return this.#losses.splice(0);
  }

  /** Sets which losses are expected from now on, because the objects were deleted. */
  expect(isExpected: (loss: Loss) => boolean): void {
    this.#isExpected = isExpected;
  }

  /** Receives an encoded response to a proxy. */
  receive(proxy: string, variant: Variant, message: Uint8Array): void {
    this.receiveDecoded(proxy, variant, decodeResponse(variant, message));
  }

  /** Receives a response to a proxy. */
  receiveDecoded(
    proxy: string,
    variant: Variant,
    { typeUrl, resources, removed }: Pick<ReceivedResponse, "typeUrl" | "resources" | "removed">,
  ): void {
    this.responses++;
    const before = this.#of(proxy, typeUrl);
    const isFull = variant === "sotw" && (typeUrl === clusterType || typeUrl === listenerType);
    const after: Resources = new Map(isFull ? [] : before);
    for (const name of removed) after.delete(name);
    for (const { name, bytes } of resources) after.set(name, new Set(partsOf(typeUrl, bytes)));
    for (const [resource, parts] of before) {
      const now = after.get(resource);
      if (now === undefined) this.#record({ proxy, typeUrl, resource });
      else for (const part of parts) if (!now.has(part)) this.#record({ proxy, typeUrl, resource, part });
    }
    this.#held.get(proxy)?.set(typeUrl, after);
  }

  #of(proxy: string, typeUrl: string): Resources {
    let types = this.#held.get(proxy);
    if (types === undefined) this.#held.set(proxy, (types = new Map()));
    return types.get(typeUrl) ?? new Map();
  }

  #record(loss: Loss): void {
    if (!this.#isExpected(loss)) this.#losses.push(loss);
  }
}

export function describeLoss({ proxy, typeUrl, resource, part }: Loss): string {
  const type = typeUrl.slice(typeUrl.lastIndexOf(".") + 1);
  return `${proxy} lost ${type} ${resource}${part === undefined ? "" : `: ${part}`}`;
}
