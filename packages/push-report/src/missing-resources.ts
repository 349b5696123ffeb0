import { formatFailure } from "@istiod/resources";
import type { Connection, ResourceState, Subscription } from "@istiod/xds-server";
import type { Deliveries } from "./deliveries.js";
import type { Effect } from "./effects.js";

/** Resources that are not live on a proxy. */
export interface MissingResources {
  readonly proxy: string;
  readonly reason: "not sent" | "not acknowledged" | "rejected" | "not generated";
  readonly typeUrl: string;
  readonly resources: readonly string[];
  /**
   * The proxy's reason for rejecting the first of these resources, or others in the same response, or the reason why
   * they cannot be generated.
   */
  readonly message?: string;
}

/**
 * Returns the resources of one type that an object affects and that are not live; undefined if all are.
 *
 * @param revision revision of the object's last change; undefined if it has not changed since the start
 */
export function missingResources(
  deliveries: Deliveries,
  connection: Connection,
  subscription: Subscription,
  { changed, removed, failed }: Effect,
  revision: number | undefined,
): MissingResources | undefined {
  const { typeUrl } = subscription;
  const missing = { proxy: connection.node.id, typeUrl };
  const [failure] = failed;
  if (failure !== undefined) {
    const resources = [...new Set(failed.map(({ name, part }) => part?.name ?? name))];
    return { ...missing, reason: "not generated", resources, message: formatFailure(failure) };
  }
  const states = changed.map(({ name, version }) => ({ name, version, state: subscription.stateOf(name) }));
  const rejected = states.filter(({ version, state }) => state?.state === "rejected" && state.version === version);
  if (rejected.length > 0) {
    const message = rejected[0]?.state?.rejection?.reason;
    const resources = rejected.map(({ name }) => name);
    return { ...missing, reason: "rejected", resources, ...(message !== undefined && { message }) };
  }
  const doubtful = [
    ...states.filter(({ state }) => isDoubtful(state)).map(({ name }) => name),
    ...removed.filter((name) => subscription.unremoved.includes(name)),
  ];
  if (doubtful.length === 0 && deliveries.acknowledged(connection.id, typeUrl, revision ?? 0)) return undefined;
  const unsent = [
    ...changed.filter(({ name, version }) => subscription.sentOf(name)?.version !== version).map(({ name }) => name),
    ...removed.filter((name) => subscription.sentOf(name) !== undefined),
  ];
  if (unsent.length > 0) return { ...missing, reason: "not sent", resources: unsent };
  if (doubtful.length === 0 && subscription.nonceSent === subscription.nonceAcked) return undefined;
  const resources = doubtful.length > 0 ? doubtful : [...changed.map(({ name }) => name), ...removed];
  return { ...missing, reason: "not acknowledged", resources, ...messageOf(subscription) };
}

/** Reports whether a resource was in a rejected response and is not decided on yet. */
function isDoubtful(state: ResourceState | undefined): boolean {
  return state !== undefined && ["pending", "resent", "held back"].includes(state.state);
}

function messageOf({ lastError, unaccepted }: Subscription): { readonly message?: string } {
  if (lastError === undefined || (lastError.nonce === "" && unaccepted.length === 0)) return {};
  const [name] = lastError.resources;
  return {
    message:
      name === undefined
        ? `the response is sent again in parts, because the proxy rejected it: ${lastError.message}`
        : `another resource of the response was rejected: ${name}: ${lastError.reasons[name] ?? lastError.message}`,
  };
}
