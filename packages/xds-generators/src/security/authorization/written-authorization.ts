import { query, type QueryContext } from "@istiod/incremental";
import {
  applicableAuthorizationPolicies,
  type ApplicablePolicies,
  features,
  mesh,
  providerAddress,
} from "@istiod/push-context";
import type { Filter, HttpFilter } from "../../envoy/filters.js";
import { outboundClusterName } from "../../resource-names.js";
import { httpAuthorizationFilters, tcpAuthorizationFilters } from "./authorization-filters.js";
import {
  type CustomAuthorizationOptions,
  httpCustomAuthorizationFilters,
  tcpCustomAuthorizationFilters,
} from "./custom-authorization-filters.js";
import { externalAuthorization } from "./external-authorization.js";
import type { PeerIdentitySource } from "./principal.js";
import type { TrustDomains } from "./trust-domains.js";

/**
 * The filters of AuthorizationPolicies for HTTP or TCP chains. Those of CUSTOM policies are separate, since they come
 * earlier.
 */
export interface AuthorizationFilters<F> {
  readonly custom: readonly F[];
  readonly local: readonly F[];
}

/** The HTTP filters of the policies that apply to the client, whatever their size. */
export const writtenHttpAuthorization = query("writtenHttpAuthorization", (q, identity: PeerIdentitySource) =>
  httpFiltersOf(q, q.call(applicableAuthorizationPolicies), identity),
);

/** The network filters of the policies that apply to the client, whatever their size. */
export const writtenTcpAuthorization = query("writtenTcpAuthorization", (q, identity: PeerIdentitySource) =>
  tcpFiltersOf(q, q.call(applicableAuthorizationPolicies), identity),
);

/** Returns the filters of policies for HTTP chains. */
export function httpFiltersOf(
  q: QueryContext,
  policies: ApplicablePolicies,
  identity: PeerIdentitySource,
): AuthorizationFilters<HttpFilter> {
  const options = authorizationOptions(q, identity);
  return {
    custom: httpCustomAuthorizationFilters(policies.custom, options),
    local: httpAuthorizationFilters(policies, options),
  };
}

/** Returns the filters of policies for TCP chains. */
export function tcpFiltersOf(
  q: QueryContext,
  policies: ApplicablePolicies,
  identity: PeerIdentitySource,
): AuthorizationFilters<Filter> {
  const options = authorizationOptions(q, identity);
  return {
    custom: tcpCustomAuthorizationFilters(policies.custom, options),
    local: tcpAuthorizationFilters(policies, options),
  };
}

/** Returns what the filters of the client's policies depend on besides the policies. */
export function authorizationOptions(q: QueryContext, identity: PeerIdentitySource): CustomAuthorizationOptions {
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
