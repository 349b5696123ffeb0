import type { Rule } from "@istiod/istio-api/security/v1beta1/authorization_policy";

const ofOperations = ["hosts", "notHosts", "methods", "notMethods", "paths", "notPaths"] as const;
const ofSources = ["requestPrincipals", "notRequestPrincipals"] as const;
/** Prefixes of the keys of conditions. */
const ofConditions = ["request.headers", "request.auth."];

/**
 * Returns an attribute of a rule that only HTTP requests have, such as `methods`; undefined if connections have all of
 * them. On a connection that carries no HTTP as far as the proxy knows, such an ALLOW rule matches nothing, and other
 * rules match as if they did not have the attribute. Source: pilot/pkg/security/authz/model.
 */
export function httpAttribute({ from, to, when }: Rule): string | undefined {
  for (const { operation } of to) {
    const found = ofOperations.find((name) => operation !== undefined && operation[name].length > 0);
    if (found !== undefined) return found;
  }
  for (const { source } of from) {
    const found = ofSources.find((name) => source !== undefined && source[name].length > 0);
    if (found !== undefined) return found;
  }
  return when.map(({ key }) => key).find((key) => ofConditions.some((prefix) => key.startsWith(prefix)));
}
