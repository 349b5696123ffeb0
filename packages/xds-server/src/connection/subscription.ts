import { ResourceSet } from "@istiod/resources";
import type { TypeState } from "../protocol/type-state.js";
import type { Subscription } from "../api.js";

/** Returns the subscription of one type. Its `sent` set is created on access. */
export function subscriptionOf(type: TypeState): Subscription {
  const { typeUrl, wildcard, names, known, last, nonceAcked, versionAcked, lastError } = type;
  const outside = new Map(Array.from(type.outside.resources(), (resource) => [resource.name, resource]));
  return {
    typeUrl,
    wildcard,
    names,
    get sent() {
      const others = [...outside.values()];
      if (known === undefined || (wildcard && others.length === 0)) return known;
      return ResourceSet.of([...[...known].filter(({ name }) => wildcard || names.has(name)), ...others]);
    },
    sentOf: (name) =>
      known === undefined
        ? undefined
        : ((wildcard || names.has(name) ? known.get(name) : undefined) ?? outside.get(name)),
    nonceSent: last?.nonce ?? "",
    nonceAcked,
    versionSent: last?.version ?? "",
    versionAcked,
    ...(last && { sentAt: last.at }),
    ...(lastError && { lastError }),
  };
}
