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
import { externalAuthorization } from "./external-authorization.js";
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
function meshTrustDomains(q: QueryContext): TrustDomains {
  const { trustDomain, trustDomainAliases } = mesh(q);
  return [trustDomain, ...trustDomainAliases];
}
