import { setTimeout as wait } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { ExtensionSchema, type Node, NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { secretType, type Variant } from "@istiod/xds-server";
import { type Address, EnvoyClient, type ReceivedResponse } from "@istiod/xds-server/testing";
import { untilSettled } from "../churn/fleet.js";
import { SimulatedProxy } from "../client/simulated-proxy.js";
import { nodeOf } from "../mesh/proxies.js";
import type { ScaleMesh } from "./dimension.js";
import { HeldConfig } from "./held-config.js";

/** Responses since the last count. */
export interface Traffic {
  responses: number;
  bytes: number;
}

export interface ScaleProxyOptions {
  readonly address: Address;
  readonly variant: Variant;
  /** Extensions that the proxy's Envoy has; empty if it does not tell. */
  readonly extensions: readonly string[];
  /** Milliseconds until everything expected must have arrived. */
  readonly timeoutMs: number;
  readonly token?: string;
}

/** The proxy of a mesh, and the further ones, which are counted together. */
export class ScaleProxy {
  readonly #mesh: ScaleMesh;
  readonly #timeoutMs: number;
  readonly #client: EnvoyClient;
  readonly #further: readonly SimulatedProxy[];
  #traffic: Traffic = { responses: 0, bytes: 0 };

  constructor(mesh: ScaleMesh, { address, variant, extensions, timeoutMs, token }: ScaleProxyOptions) {
    this.#mesh = mesh;
    this.#timeoutMs = timeoutMs;
    const node = nodeOf(mesh.proxy);
    node.extensions = extensions.map((name) => create(ExtensionSchema, { name }));
    const headers = token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } };
    this.#client = new EnvoyClient(address, {
      variant,
      node,
      history: 1,
      ...(mesh.secrets && { also: { [secretType]: mesh.secrets } }),
      reject: (response) => this.#count(response),
      ...headers,
    });
    this.#further = Array.from({ length: mesh.furtherProxies ?? 0 }, (_, index) => {
      const received = (message: Uint8Array): void => void this.#count({ bytes: message.length });
      const own = toBinary(NodeSchema, renamed(node, index));
      return new SimulatedProxy({ target: address, variant, node: own, events: { received }, ...headers });
    });
    for (const proxy of this.#further) proxy.connect();
  }

  get config(): HeldConfig {
    return new HeldConfig(this.#client);
  }

  /** Returns the resources of a type that the proxy holds. */
  resources: EnvoyClient["resources"] = (typeUrl) => this.#client.resources(typeUrl);

  /** Waits until all proxies have all that they need. @throws Error after the timeout, or if the stream ends */
  async connected(): Promise<void> {
    await this.#within(this.#client.initialized());
    await this.#within(this.#client.settled());
    for (const proxy of this.#further) await untilSettled(proxy);
  }

  /**
   * Waits until the proxy has what is expected, or it is hopeless. Returns the differences, one sentence each; none if
   * all is right.
   */
  async arrived(expected: readonly string[], isHopeless: () => boolean): Promise<string[]> {
    for (const until = performance.now() + this.#timeoutMs; ; await wait(100)) {
      const seen = this.#traffic.responses;
      const found = differences(this.#mesh.read(this.config), expected);
      if (found.length === 0 || isHopeless() || performance.now() > until) {
        await this.#within(this.#client.settled());
        for (const proxy of this.#further) await untilSettled(proxy);
        return found;
      }
      // Nothing is read again before something came.
      while (this.#traffic.responses === seen && !isHopeless() && performance.now() < until) await wait(20);
    }
  }

  /** Returns the traffic since the last call. */
  traffic(): Traffic {
    const counted = this.#traffic;
    this.#traffic = { responses: 0, bytes: 0 };
    return counted;
  }

  close(): void {
    this.#client.close();
    for (const proxy of this.#further) proxy.drop();
  }

  #count({ bytes, typeUrl = "" }: Pick<ReceivedResponse, "bytes"> & { readonly typeUrl?: string }): undefined {
    if (typeUrl.startsWith("fence/")) return;
    this.#traffic.responses++;
    this.#traffic.bytes += bytes;
  }

  async #within<T>(work: Promise<T>): Promise<T> {
    const timer = new AbortController();
    try {
      return await Promise.race([
        work,
        this.#client.xds.ended.then((error): never => {
          throw new Error(`the stream ended: ${error?.message ?? "status OK"}`);
        }),
        wait(this.#timeoutMs, undefined, { signal: timer.signal }).then((): never => {
          throw new Error(`not all arrived within ${this.#timeoutMs} ms`);
        }),
      ]);
    } finally {
      timer.abort();
    }
  }
}

function renamed(node: Node, index: number): Node {
  return create(NodeSchema, { ...node, id: node.id.replace("~client.", `~client-${index}.`) });
}

const mostListed = 3;

/** Compares two lists whose order does not matter. Returns the differences, one sentence each. */
export function differences(actual: readonly string[], expected: readonly string[]): string[] {
  const [has, should] = [new Set(actual), new Set(expected)];
  const listed = (names: readonly string[], what: string): string[] =>
    names.length === 0 ? [] : [`${names.length} ${what}: ${names.slice(0, mostListed).join(", ")}`];
  return [
    ...(has.size === actual.length ? [] : [`${actual.length - has.size} more than once`]),
    ...listed(
      [...should].filter((name) => !has.has(name)),
      "missing",
    ),
    ...listed(
      [...has].filter((name) => !should.has(name)),
      "unexpected",
    ),
  ];
}
