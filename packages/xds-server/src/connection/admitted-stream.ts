import { Code, ConnectError } from "@connectrpc/connect";
import type { Node } from "@istiod/envoy-api/envoy/config/core/v3/base";
import type { StreamAttribution } from "../attribution.js";
import type { AdsStream } from "../protocol/ads-stream.js";
import { type ClientSource, currentSet } from "../protocol/client-source.js";
import { DeltaStream } from "../protocol/delta-stream.js";
import { SotwStream } from "../protocol/sotw-stream.js";
import type { StreamLimits } from "../limits/stream-limits.js";
import type { ResourceSource } from "../source.js";
import type { Call } from "../transport/call.js";
import { type AnswerOf, OnDemandTypes } from "./on-demand-types.js";
import type { ServerContext } from "./server-context.js";
import { type SharedAllowance, shareKey } from "../limits/shared-allowance.js";
import { StreamEvents } from "./stream-events.js";

/** An admitted stream and its state. */
export interface AdmittedStream<C> {
  /** `<node id>-<counter>` */
  readonly id: string;
  readonly node: Node;
  readonly client: C;
  readonly protocol: AdsStream;
  readonly attribution: StreamAttribution;
  readonly onDemand: OnDemandTypes;
  readonly events: StreamEvents;
  readonly limits: Required<StreamLimits>;
  /** Memory that streams of the class share, and the key of the client's share. */
  readonly allowance: SharedAllowance;
  readonly shareKey: string;
  /** Key by which the client is recognized when it reconnects. */
  readonly memoryKey: string;
  /** Time of admission in milliseconds since the epoch. */
  readonly at: number;
}

/** The connection of a stream that is being admitted. */
interface Opening {
  /** Reports whether the stream has ended in the meantime. */
  readonly hasEnded: () => boolean;
  /** Queues a push, because resources of rejected responses may be sent again. */
  readonly retry: () => void;
}

/**
 * Admits a stream on its first request.
 *
 * @throws ConnectError if the stream is rejected
 */
export async function admitStream<C>(
  context: ServerContext<C>,
  call: Call,
  node: Node | undefined,
  { hasEnded, retry }: Opening,
): Promise<AdmittedStream<C>> {
  const { source, clock, observe } = context;
  const { peer, method } = call;
  if (node === undefined || node.id === "") throw new ConnectError("missing node information", Code.InvalidArgument);
  const client = await source.open(node, peer);
  if (hasEnded()) {
    source.close?.(client);
    throw new ConnectError("the client is gone", Code.Canceled);
  }
  const identity = source.identity?.(client);
  const { limits, allowance } = context.classes[identity === undefined ? "unauthenticated" : "authenticated"];
  try {
    call.admitted?.(identity);
  } catch (error) {
    source.close?.(client);
    throw error;
  }
  const number = context.nextStreamNumber();
  const id = `${node.id}-${number}`;
  const events = new StreamEvents(observe, id, node.id, method.variant);
  const clientSource = bindSource(source, client, (typeUrl, error) => events.failed(typeUrl, error));
  const attribution = context.attribution.open({
    sentSet: (typeUrl) => protocol.sentSet(typeUrl),
    currentSet: (typeUrl) => currentSet(clientSource, typeUrl),
  });
  const noncePrefix = `${context.processPrefix}${number.toString(36)}.`;
  const { random, isolatesRejections, memory, rejections } = context;
  const memoryKey = `${shareKey(identity, peer)} ${node.id}`;
  const uncertain = memory.recall(memoryKey, clock.now());
  const options = {
    source: clientSource,
    attribution,
    clock,
    noncePrefix,
    limits,
    random,
    trials: context.trials.join(retry),
    rejections,
    isolatesRejections,
    uncertain,
  };
  const protocol: AdsStream = method.variant === "delta" ? new DeltaStream(options) : new SotwStream(options);
  const onDemand = new OnDemandTypes(answerOf(context, node), (answer) => `${id}.${answer.toString(36)}`, limits.types);
  const share = { limits, allowance, shareKey: shareKey(identity, peer), memoryKey };
  return { id, node, client, protocol, attribution, onDemand, events, ...share, at: clock.now() };
}

function answerOf<C>({ onDemand, unreadAnswers }: ServerContext<C>, node: Node): AnswerOf {
  return (typeUrl, names) => {
    for (const handler of onDemand) {
      const answer = handler(node, typeUrl, names, () => unreadAnswers.untilRoom());
      if (answer !== undefined) return answer;
    }
    return undefined;
  };
}

function bindSource<C>(source: ResourceSource<C>, client: C, failed: ClientSource["failed"]): ClientSource {
  return {
    resources: (typeUrl, wildcard) => source.resources(client, typeUrl, wildcard),
    lookup: source.lookup && ((typeUrl, name) => source.lookup?.(client, typeUrl, name)),
    isFailing: (typeUrl, name) => source.isFailing?.(client, typeUrl, name) ?? false,
    serves: (typeUrl) => source.serves?.(typeUrl, client) ?? true,
    unsubscribed: (typeUrl, name) => source.unsubscribed?.(client, typeUrl, name),
    failed,
  };
}
