import { query } from "@istiod/incremental";
import { mesh } from "@istiod/push-context";
import type { Filter, HttpFilter } from "../../envoy/filters.js";
import { enforcedAuthorizationPolicies, policiesOverBound } from "../policy-bound.js";
import { problemOfProvider } from "./external-authorization.js";
import type { PeerIdentitySource } from "./principal.js";
import {
  type AuthorizationFilters,
  authorizationOptions,
  httpFiltersOf,
  tcpFiltersOf,
  writtenHttpAuthorization,
  writtenTcpAuthorization,
} from "./written-authorization.js";

/** The authorization filters for requests that the client receives. */
export const httpAuthorization = query(
  "httpAuthorization",
  (q, identity: PeerIdentitySource): AuthorizationFilters<HttpFilter> =>
    q.call(policiesOverBound) === undefined
      ? q.call(writtenHttpAuthorization, identity)
      : httpFiltersOf(q, q.call(enforcedAuthorizationPolicies), identity),
);

/** The authorization filters for connections that the client receives. */
export const tcpAuthorization = query(
  "tcpAuthorization",
  (q, identity: PeerIdentitySource): AuthorizationFilters<Filter> =>
    q.call(policiesOverBound) === undefined
      ? q.call(writtenTcpAuthorization, identity)
      : tcpFiltersOf(q, q.call(enforcedAuthorizationPolicies), identity),
);

/** The effect of an extension provider of CUSTOM policies on the requests and connections that match them. */
export interface CustomProviderEffect {
  readonly name: string;
  /** `denies`: the provider cannot be used. */
  readonly http: "decides" | "denies";
  /** `none`: an HTTP provider has no filter for TCP chains. */
  readonly tcp: "decides" | "denies" | "none";
  /** Reason why the provider cannot be used; undefined if it can. */
  readonly problem?: string;
}

/** The providers of the CUSTOM policies that apply to the client, in the order in which they are asked. */
export const customProviderEffects = query("customProviderEffects", (q): readonly CustomProviderEffect[] => {
  const { provider, allowsMultipleProviders } = authorizationOptions(q, "certificate");
  const names = [...new Set(q.call(enforcedAuthorizationPolicies).custom.map((policy) => policy.provider))].sort();
  return names.map((name) => {
    const isSurplus = names.length > 1 && !allowsMultipleProviders;
    const found = isSurplus ? undefined : provider(name);
    if (found === undefined) {
      const problem = isSurplus
        ? `the policies of the workload have ${names.length} providers, and one is allowed`
        : problemOfProvider(name, mesh(q).extensionProviders);
      return { name, http: "denies", tcp: "denies", problem };
    }
    return { name, http: "decides", tcp: found.tcp === undefined ? "none" : "decides" };
  });
});
