import type { Connection as Snapshot } from "../api.js";
import type { Call } from "../transport/call.js";
import type { AdmittedStream } from "./admitted-stream.js";
import { subscriptionOf } from "./subscription.js";

/**
 * Returns the current state of a stream.
 *
 * @param now milliseconds since the epoch
 */
export function snapshotOf<C>({ peer, outstandingBytes }: Call, stream: AdmittedStream<C>, now: number): Snapshot {
  const { id, node, protocol, attribution, at } = stream;
  const { pendingRevision } = attribution;
  return {
    id,
    node,
    peer,
    variant: protocol.variant,
    connectedAt: at,
    outstandingBytes,
    ...(pendingRevision !== undefined && { pendingRevision }),
    subscriptions: [...protocol.types.values()].map((type) => subscriptionOf(type, now)),
  };
}
