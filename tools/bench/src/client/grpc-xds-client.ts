import { type Channel, decodeResponse, encodeRequest, openChannel } from "@istiod/xds-server/testing";
import { clusterType, endpointType, listenerType, routeType } from "@istiod/xds-server";

/** The types of a gRPC library, in the order in which one leads to the next. */
export const grpcTypes = { lds: listenerType, rds: routeType, cds: clusterType, eds: endpointType } as const;
export type GrpcTypeName = keyof typeof grpcTypes;

/** A response, counted. */
export interface CountedResponse {
  readonly type: string;
  readonly resources: number;
  readonly bytes: number;
}

interface Subscription {
  readonly names: readonly string[];
  readonly resources: Map<string, Uint8Array>;
  waiting: (() => void) | undefined;
}

const noFence = (): void => undefined;

/** A client that speaks like a gRPC library: state-of-the-world, and resources by name. */
export class GrpcXdsClient {
  readonly #node: Uint8Array;
  readonly #channel: Channel;
  readonly #subscriptions = new Map<string, Subscription>();
  readonly #received: (response: CountedResponse) => void;
  #isFirst = true;
  /** The reason for which the stream ended. */
  ended: string | undefined;

  /** @param node an encoded `envoy.config.core.v3.Node` */
  constructor(port: number, node: Uint8Array, host = "127.0.0.1", received: (each: CountedResponse) => void = noFence) {
    this.#node = node;
    this.#received = received;
    this.#channel = openChannel({ host, port }, "sotw", {
      message: (message) => this.#receive(message),
      ended: (error) => (this.ended = error?.message ?? "ended with status OK"),
    });
  }

  /**
   * Subscribes to resources by name, and resolves with those of the first response.
   *
   * @param timeout milliseconds; after it, what has arrived
   */
  async subscribe(
    typeUrl: string,
    names: readonly string[],
    timeout: number,
  ): Promise<ReadonlyMap<string, Uint8Array>> {
    const resources = new Map<string, Uint8Array>();
    if (names.length === 0) return resources;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, timeout);
      const waiting = (): void => {
        clearTimeout(timer);
        resolve();
      };
      this.#subscriptions.set(typeUrl, { names, resources, waiting });
      this.#send(typeUrl, { names });
    });
    return resources;
  }

  close(): void {
    this.#channel.cancel();
  }

  #receive(message: Uint8Array): void {
    const { typeUrl, nonce, version, resources } = decodeResponse("sotw", message);
    this.#received({ type: typeUrl, resources: resources.length, bytes: message.length });
    const subscription = this.#subscriptions.get(typeUrl);
    if (subscription === undefined) return;
    for (const { name, bytes } of resources) subscription.resources.set(name, Uint8Array.from(bytes));
    this.#send(typeUrl, { names: subscription.names, nonce, version });
    subscription.waiting?.();
    subscription.waiting = undefined;
  }

  #send(
    typeUrl: string,
    request: { readonly names: readonly string[]; readonly nonce?: string; readonly version?: string },
  ) {
    this.#channel.send(encodeRequest("sotw", { typeUrl, ...request, ...(this.#isFirst && { node: this.#node }) }));
    this.#isFirst = false;
  }
}
