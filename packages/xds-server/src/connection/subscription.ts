import { ResourceSet } from "@istiod/resources";
import type { Doubt } from "../protocol/doubt.js";
import type { TypeState } from "../protocol/type-state.js";
import type { ResourceState, Subscription } from "../api.js";

/**
 * Returns the subscription of one type. Its `sent` set is created on access.
 *
 * @param now milliseconds since the epoch
 */
export function subscriptionOf(type: TypeState, now: number): Subscription {
  const { typeUrl, wildcard, names, known, last, nonceAcked, versionAcked, lastError } = type;
  const outside = new Map(Array.from(type.outside.resources(), (resource) => [resource.name, resource]));
  const sentOf: Subscription["sentOf"] = (name) =>
    known === undefined
      ? undefined
      : ((wildcard || names.has(name) ? known.get(name) : undefined) ?? outside.get(name));
  const doubtful = doubtfulStates(type, now);
  return {
    typeUrl,
    wildcard,
    names,
    get sent() {
      const others = [...outside.values()];
      if (known === undefined || (wildcard && others.length === 0)) return known;
      return ResourceSet.of([...[...known].filter(({ name }) => wildcard || names.has(name)), ...others]);
    },
    sentOf,
    stateOf: stateFinder(type, sentOf, doubtful),
    unaccepted: [...doubtful.values()],
    unremoved: [...(type.doubts?.removals.names ?? [])],
    nonceSent: last?.nonce ?? "",
    nonceAcked,
    versionSent: last?.version ?? "",
    versionAcked,
    ...(last && { sentAt: last.at }),
    ...(lastError && { lastError }),
  };
}

const noStates: ReadonlyMap<string, ResourceState> = new Map();

function doubtfulStates({ doubts }: TypeState, now: number): ReadonlyMap<string, ResourceState> {
  if (doubts === undefined) return noStates;
  const heldUntil = doubts.heldUntil(now);
  const states = new Map<string, ResourceState>();
  for (const [name, doubt] of doubts)
    if (doubt.state !== "removed") states.set(name, doubtfulState(name, doubt, heldUntil));
  return states;
}

function doubtfulState(name: string, doubt: Doubt, heldUntil: number | undefined): ResourceState {
  const { version, state, accepted, rejection, retryAt } = doubt;
  const of = {
    name,
    version,
    ...(accepted !== undefined && accepted.version !== version && { acceptedVersion: accepted.version }),
    ...(rejection && { rejection }),
  };
  if (state === "rejected") return { ...of, state, retryAt };
  if (state === "sent") return { ...of, state: "resent" };
  return heldUntil === undefined ? { ...of, state: "pending" } : { ...of, state: "held back", retryAt: heldUntil };
}

function stateFinder(
  type: TypeState,
  sentOf: Subscription["sentOf"],
  doubtful: ReadonlyMap<string, ResourceState>,
): Subscription["stateOf"] {
  const { acknowledged, resend } = type;
  const unanswered = type.unanswered.finder();
  const isDue = type.mustRespond && type.last === undefined;
  return (name) => {
    const doubt = doubtful.get(name);
    if (doubt !== undefined) return doubt;
    const version = sentOf(name)?.version;
    if (version === undefined) return undefined;
    if (isDue || resend.has(name)) return { name, version, state: "not sent" };
    if (unanswered(name)?.version === version) return { name, version, state: "sent" };
    // Resources outside the set are acknowledged if no response with them is unanswered.
    const has = acknowledged?.get(name)?.version;
    if (has === version || (has === undefined && type.nonceAcked !== "" && type.outside.has(name)))
      return { name, version, state: "acknowledged" };
    return { name, version, state: "sent", ...(has !== undefined && { acceptedVersion: has }) };
  };
}
