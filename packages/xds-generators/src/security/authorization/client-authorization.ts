import { query, type QueryContext } from "@istiod/incremental";
import { applicableAuthorizationPolicies, features, mesh, providerAddress } from "@istiod/push-context";
import type { Filter, HttpFilter } from "../../envoy/filters.js";
import { outboundClusterName } from "../../resource-names.js";
import { httpAuthorizationFilters, tcpAuthorizationFilters } from "./authorization-filters.js";
import {
  type CustomAuthorizationOptions,
  httpCustomAuthorizationFilters,
  tcpCustomAuthorizationFilters,
} from "./custom-authorization-filters.js";
import { externalAuthorization, problemOfProvider } from "./external-authorization.js";
import type { PeerIdentitySource } from "./principal.js";
import type { TrustDomains } from "./trust-domains.js";

/**
 * The filters of AuthorizationPolicies for HTTP or TCP chains. Those of CUSTOM policies are separate, since they come
 * earlier.
 */
interface AuthorizationFilters<F> {
  readonly custom: readonly F[];
  readonly local: readonly F[];
}

/** The authorization filters for requests that the client receives. */
export const httpAuthorization = query(
  "httpAuthorization",
  (q, identity: PeerIdentitySource): AuthorizationFilters<HttpFilter> => {
    const policies = q.call(applicableAuthorizationPolicies);
    const options = optionsOf(q, identity);
    return {
      custom: httpCustomAuthorizationFilters(policies.custom, options),
      local: httpAuthorizationFilters(policies, options),
    };
  },
);

/** The authorization filters for connections that the client receives. */
export const tcpAuthorization = query(
  "tcpAuthorization",
  (q, identity: PeerIdentitySource): AuthorizationFilters<Filter> => {
    const policies = q.call(applicableAuthorizationPolicies);
    const options = optionsOf(q, identity);
    return {
      custom: tcpCustomAuthorizationFilters(policies.custom, options),
      local: tcpAuthorizationFilters(policies, options),
    };
  },
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
  const { provider, allowsMultipleProviders } = optionsOf(q, "certificate");
  const names = [...new Set(q.call(applicableAuthorizationPolicies).custom.map((policy) => policy.provider))].sort();
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

function optionsOf(q: QueryContext, identity: PeerIdentitySource): CustomAuthorizationOptions {
  return {
    identity,
    trustDomains: meshTrustDomains(q),
    get allowsMultipleProviders() {
      return features.multipleCustomAuthzProviders(q);
    },
    provider: (name) =>
      externalAuthorization(name, mesh(q).extensionProviders, (service, port) => {
        const at = q.call(providerAddress, { service, port });
        return at && { hostname: at.hostname, cluster: outboundClusterName(at.hostname, at.port) };
      }),
  };
}

/** Returns the mesh's trust domain and its aliases. */
export function meshTrustDomains(q: QueryContext): TrustDomains {
  const { trustDomain, trustDomainAliases } = mesh(q);
  return [trustDomain, ...trustDomainAliases];
}
