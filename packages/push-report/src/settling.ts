import {
  clusterType,
  type Connection,
  endpointType,
  listenerType,
  routeType,
  type Subscription,
} from "@istiod/xds-server";
import type { EffectSources } from "./effects.js";

/** Types whose every subscription is answered, if with nothing. */
const answeredTypes: ReadonlySet<string> = new Set([clusterType, endpointType, listenerType, routeType]);

/**
 * Reports whether a client is still to be sent something that is generated, or to answer it. Only afterwards is it
 * known what it subscribes to: Envoy asks for listeners when it has its clusters, and for routes when it has its
 * listeners.
 */
export function isSettling<C>(
  { generators, lookups }: Pick<EffectSources<C>, "generators" | "lookups">,
  { pendingRevision, subscriptions }: Connection,
): boolean {
  const generated = subscriptions.filter(({ typeUrl }) => typeUrl in generators || typeUrl in lookups);
  const has = (typeUrl: string): boolean => generated.some((subscription) => subscription.typeUrl === typeUrl);
  return (
    pendingRevision !== undefined ||
    subscriptions.length === 0 ||
    !generated.every(isAnswered) ||
    (has(clusterType) && !has(listenerType))
  );
}

function isAnswered({ typeUrl, nonceSent, nonceAcked, lastError }: Subscription): boolean {
  if (nonceSent === "") return !answeredTypes.has(typeUrl);
  return nonceSent === nonceAcked || lastError?.nonce === nonceSent;
}
