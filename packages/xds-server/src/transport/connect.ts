import { create } from "@bufbuild/protobuf";
import { ConnectError, type ConnectRouter, type HandlerContext } from "@connectrpc/connect";
import { AggregatedDiscoveryService } from "@istiod/envoy-api/envoy/service/discovery/v3/ads";
import {
  DeltaDiscoveryResponseSchema,
  DiscoveryResponseSchema,
  type DeltaDiscoveryRequest,
  type DiscoveryRequest,
} from "@istiod/envoy-api/envoy/service/discovery/v3/discovery";
import { completed } from "../sliced.js";
import type { Peer } from "../source.js";
import type { Call, CallHandler, DiscoveryMethod, OutgoingMessage } from "./call.js";
import { requestOf } from "../wire/request.js";
import { peerKey } from "./peer.js";

/** Serves the aggregated discovery service with Connect handlers. */
export function discoveryRoutes(router: ConnectRouter, accept: (call: Call) => CallHandler): void {
  const aggregated = (variant: "delta" | "sotw"): DiscoveryMethod => ({ variant, typeUrl: undefined });
  router.service(AggregatedDiscoveryService, {
    async *streamAggregatedResources(requests, context) {
      for await (const field of serve(accept, requests, context, aggregated("sotw"))) {
        const response = create(DiscoveryResponseSchema);
        response.$unknown = [field];
        yield response;
      }
    },
    async *deltaAggregatedResources(requests, context) {
      for await (const field of serve(accept, requests, context, aggregated("delta"))) {
        const response = create(DeltaDiscoveryResponseSchema);
        response.$unknown = [field];
        yield response;
      }
    },
  });
}

/** An encoded message disguised as an unknown field: its first byte is the tag, the rest is written verbatim. */
interface EncodedMessage {
  readonly no: number;
  readonly wireType: 2;
  readonly data: Uint8Array;
}

async function* serve(
  accept: (call: Call) => CallHandler,
  requests: AsyncIterable<DeltaDiscoveryRequest | DiscoveryRequest>,
  context: HandlerContext,
  method: DiscoveryMethod,
): AsyncGenerator<EncodedMessage> {
  const call = new ConnectCall(context.values.get(peerKey), method);
  const handler = accept(call);
  void (async () => {
    try {
      for await (const request of requests) await handler.request(completed(requestOf(request)), undefined);
      handler.halfClosed();
    } catch (error) {
      call.end(ConnectError.from(error));
    }
  })();
  const aborted = (): void => call.end(ConnectError.from(context.signal.reason));
  context.signal.addEventListener("abort", aborted);
  try {
    for (let message = await call.next(); message !== undefined; message = await call.next()) {
      yield encoded(message);
      call.outstandingBytes -= message.length;
      handler.progressed();
    }
    if (call.error !== undefined) throw call.error;
  } finally {
    context.signal.removeEventListener("abort", aborted);
    handler.closed("the stream ended");
  }
}

function encoded({ head, bodies, length }: OutgoingMessage): EncodedMessage {
  const bytes = Buffer.concat([head, ...bodies.flatMap(({ pieces }) => pieces)], length);
  const tag = bytes[0] ?? 0;
  return { no: tag >> 3, wireType: 2, data: bytes.subarray(1) };
}

class ConnectCall implements Call {
  readonly peer: Peer;
  readonly method: DiscoveryMethod;
  readonly copies = true;
  outstandingBytes = 0;
  error: ConnectError | undefined;
  #unsent: OutgoingMessage[] = [];
  #ended = false;
  #wake: () => void = () => undefined;

  constructor(peer: Peer, method: DiscoveryMethod) {
    this.peer = peer;
    this.method = method;
  }

  send(message: OutgoingMessage): void {
    if (this.#ended) return;
    this.outstandingBytes += message.length;
    this.#unsent.push(message);
    this.#wake();
  }

  end(error?: ConnectError): void {
    if (this.#ended) return;
    this.#ended = true;
    this.error = error;
    this.#wake();
  }

  abort(): void {
    this.#unsent = [];
    this.end();
  }

  /** Resolves with the next message to send, or undefined at the end. */
  async next(): Promise<OutgoingMessage | undefined> {
    while (this.#unsent.length === 0 && !this.#ended) await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.#unsent.shift();
  }
}
