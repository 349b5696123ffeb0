import { Code, ConnectError } from "@connectrpc/connect";
import type { Node } from "@istiod/envoy-api/envoy/config/core/v3/base";
import type { AdsStream } from "../protocol/ads-stream.js";
import type { ClientSource } from "../protocol/client-source.js";
import { DeltaStream } from "../protocol/delta-stream.js";
import { SotwStream } from "../protocol/sotw-stream.js";
import type { ResourceSource } from "../source.js";
import type { Call } from "../transport/call.js";
import type { ServerContext } from "./server-context.js";
import { StreamEvents } from "./stream-events.js";
import { OnDemandTypes } from "./on-demand-types.js";

/** A stream that was admitted, with what is kept of it until it ends. */
export interface AdmittedStream<C> {
  /** `<node id>-<counter>` */
  readonly id: string;
  readonly node: Node;
  readonly client: C;
  readonly stream: AdsStream;
  readonly onDemand: OnDemandTypes;
  readonly events: StreamEvents;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/**
 * Opens the stream of a client by its first request.
 *
 * @param gone whether the client left meanwhile
 * @throws ConnectError if it is refused
 */
export async function open<C>(
  engine: ServerContext<C>,
  { peer, method }: Call,
  node: Node | undefined,
  gone: () => boolean,
): Promise<AdmittedStream<C>> {
  const { source, clock, observe } = engine;
  if (node === undefined || node.id === "") throw new ConnectError("missing node information", Code.InvalidArgument);
  const client = await source.open(node, peer);
  if (gone()) {
    source.close?.(client);
    throw new ConnectError("the client is gone", Code.Canceled);
  }
  const number = engine.number();
  const id = `${node.id}-${number}`;
  const events = new StreamEvents(observe, id, node.id, method.variant);
  const seen = seenBy(client, source, engine.revision, (typeUrl, error) => events.failed(typeUrl, error));
  const noncePrefix = `${engine.process}${number.toString(36)}.`;
  const stream =
    method.variant === "delta" ? new DeltaStream(seen, clock, noncePrefix) : new SotwStream(seen, clock, noncePrefix);
  const answerOf =
    source.answer && ((typeUrl: string, names: Iterable<string>) => source.answer?.(client, typeUrl, names));
  const onDemand = new OnDemandTypes(answerOf, (answer) => `${id}.${answer.toString(36)}`);
  return { id, node, client, stream, onDemand, events, at: clock.now() };
}

function seenBy<C>(
  client: C,
  source: ResourceSource<C>,
  revision: () => number | undefined,
  failed: ClientSource["failed"],
): ClientSource {
  return {
    resources: (typeUrl) => source.resources(client, typeUrl),
    revision,
    lookup: source.lookup && ((typeUrl, name) => source.lookup?.(client, typeUrl, name)),
    failed,
  };
}
