import {
  clusterType,
  type Connection,
  endpointType,
  listenerType,
  routeType,
  type Subscription,
} from "@istiod/xds-server";
import type { EffectSources } from "./effects.js";

/** Types for which the server answers every subscription, even with an empty response. */
const alwaysAnsweredTypes: ReadonlySet<string> = new Set([clusterType, endpointType, listenerType, routeType]);

/**
 * Reports whether a client has pushes or answers of generated types outstanding. Its subscriptions are complete only
 * afterwards: Envoy requests listeners once it has its clusters, and routes once it has its listeners.
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

function isAnswered({ typeUrl, nonceSent, nonceAcked, lastError, unaccepted, unremoved }: Subscription): boolean {
  if (unremoved.length > 0 || unaccepted.some(({ state }) => state === "pending" || state === "resent")) return false;
  if (nonceSent === "") return !alwaysAnsweredTypes.has(typeUrl);
  return nonceSent === nonceAcked || lastError?.nonce === nonceSent;
}
