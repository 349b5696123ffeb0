import type { Resource } from "@istiod/resources";

/** A connected proxy with its subscriptions, such as a `Connection` of the xDS server. */
export interface ConnectedProxy {
  readonly subscriptions: readonly ProxySubscription[];
}

export interface ProxySubscription {
  readonly typeUrl: string;
  readonly wildcard: boolean;
  readonly names: { has(name: string): boolean };
  stateOf(name: string): SubscribedState | undefined;
}

interface SubscribedState {
  readonly version: string;
  readonly state: "acknowledged" | "sent" | "not sent" | "rejected" | "pending" | "resent" | "held back";
  readonly acceptedVersion?: string;
  readonly rejection?: { readonly version: string; readonly reason: string; readonly attempts: number };
  readonly retryAt?: number;
}

/** State of a resource on a connected proxy. */
export interface ProxyState {
  /**
   * - `acknowledged`: the proxy has the explained version.
   * - `sent`: a response with it is unanswered.
   * - `not sent`: the proxy was not sent this version yet, or it is not sent because it cannot be generated.
   * - `not subscribed`: the proxy did not ask for the resource.
   * - `rejected`: the proxy rejected this version by its name, or alone.
   * - `pending`, `resent`, `held back`: the proxy rejected a response with this version and others. It is about to be
   *   sent again, it was sent again and is unanswered, or it is sent again later.
   */
  readonly state: SubscribedState["state"] | "not subscribed";
  /** Version that the proxy acknowledged last, if it is another one and is known. */
  readonly acceptedVersion?: string;
  /** The proxy's reason for its last rejection of the resource, without dumps of resources. */
  readonly reason?: string;
  /** Rejections in a row. */
  readonly attempts?: number;
  /** Time of the next attempt, in the format of RFC 3339. */
  readonly retryTime?: string;
}

/** Returns what a proxy has of the current version of a resource. */
export function proxyStateOf(
  { subscriptions }: ConnectedProxy,
  typeUrl: string,
  { name, version }: Pick<Resource, "name" | "version">,
): ProxyState {
  const subscription = subscriptions.find((each) => each.typeUrl === typeUrl);
  const found = subscription?.stateOf(name);
  if (found === undefined)
    return { state: subscription?.wildcard === true || subscription?.names.has(name) ? "not sent" : "not subscribed" };
  const { acceptedVersion, rejection, retryAt } = found;
  // The proxy was sent an earlier version, and was not asked about this one.
  if (found.version !== version) {
    const accepted = found.state === "acknowledged" ? found.version : acceptedVersion;
    return { state: "not sent", ...(accepted !== undefined && accepted !== version && { acceptedVersion: accepted }) };
  }
  return {
    state: found.state,
    ...(acceptedVersion !== undefined && { acceptedVersion }),
    ...(rejection && { reason: rejection.reason, attempts: rejection.attempts }),
    ...(retryAt !== undefined && { retryTime: new Date(retryAt).toISOString() }),
  };
}

/** Formats the state as text. */
export function formatProxyState({ state, acceptedVersion, reason, attempts, retryTime }: ProxyState): string {
  const rejection = reason === undefined ? "" : `: ${state === "rejected" ? "" : "rejected before: "}${reason}`;
  const more = [
    ...(attempts === undefined ? [] : [`attempt ${attempts}`]),
    ...(retryTime === undefined ? [] : [`next at ${retryTime}`]),
    ...(acceptedVersion === undefined ? [] : [`acknowledged version ${acceptedVersion}`]),
  ];
  return `${state}${rejection}${more.length === 0 ? "" : ` (${more.join(", ")})`}`;
}
