import { matchesStringPattern, requestPrincipalPattern } from "@istiod/push-context";
import { expandTrustDomains, withTrustDomainAliases } from "@istiod/xds-generators";
import type { Access, RuleContext } from "./access.js";
import { isAddressRange, isInRange } from "./addresses.js";
import type { Attribute } from "./attribute.js";
import { matchesGlob, matchesValue } from "./patterns.js";

const scheme = "spiffe://";

/** Compares the caller's SPIFFE ID; a caller without one never matches. */
function ofPrincipal(
  matches: (value: string, principal: string, context: RuleContext) => boolean,
  expand?: Attribute["expand"],
): Attribute {
  return {
    ...(expand && { expand }),
    actual: ({ principal }) => principal ?? "no principal, since the connection has no client certificate",
    matches: (value, { principal }, context) => principal !== undefined && matches(value, principal, context),
  };
}

export const sourcePrincipal = ofPrincipal(
  (value, principal) =>
    value === "*"
      ? principal !== ""
      : value.startsWith("*")
        ? principal.startsWith(scheme) && principal.slice(scheme.length).endsWith(value.slice(1))
        : matchesValue(scheme + value, principal),
  (values, { trustDomains }) => withTrustDomainAliases(values, trustDomains),
);

/** `name` or `namespace/name`; other parts of the SPIFFE ID are ignored. */
export const sourceServiceAccount = ofPrincipal((value, principal, { policyNamespace }) => {
  const slash = value.indexOf("/");
  const namespace = slash < 0 ? policyNamespace : value.slice(0, slash);
  const name = value.slice(slash + 1);
  // The trust domain is not empty, and may contain slashes in the pattern that Istio generates.
  return [`${scheme}?*/ns/${namespace}/sa/${name}`, `${scheme}?*/ns/${namespace}/?*/sa/${name}`].some(
    (pattern) => matchesNonEmpty(pattern, principal) || matchesNonEmpty(`${pattern}/?*`, principal),
  );
});

/** Matches a pattern in which `?*` stands for any non-empty text and everything else for itself. */
function matchesNonEmpty(pattern: string, text: string): boolean {
  const quoted = pattern.split("?*").map((part) => part.replace(/[\\.+*?()|[\]{}^$]/g, "\\$&"));
  return new RegExp(`^${quoted.join(".+")}$`).test(text);
}

export const sourceNamespace = ofPrincipal((value, principal) => matchesGlob(`*/ns/${value}/*`, principal));

export const sourceTrustDomain = ofPrincipal(
  (value, principal) => {
    if (!principal.startsWith(scheme)) return false;
    if (value === "*") return true;
    const rest = principal.slice(scheme.length);
    const star = value.indexOf("*");
    if (star < 0) return rest.startsWith(`${value}/`);
    const [before, after] = [value.slice(0, star), value.slice(star + 1)];
    const slash = rest.indexOf("/");
    const domain = rest.slice(0, slash);
    return (
      slash >= 0 && domain.length >= before.length + after.length && domain.startsWith(before) && domain.endsWith(after)
    );
  },
  (values, { trustDomains }) => expandTrustDomains(values, trustDomains),
);

/** `issuer/subject` of the request's token; the issuer may contain slashes. */
export const requestPrincipal: Attribute = {
  httpOnly: true,
  joined: true,
  actual: ({ claims }) => (claims === undefined ? "no valid token" : `${text(claims["iss"])}/${text(claims["sub"])}`),
  matches: (value, { claims }) => {
    const [issuer, subject] = [claims?.["iss"], claims?.["sub"]];
    if (typeof issuer !== "string" || typeof subject !== "string") return false;
    const pattern = requestPrincipalPattern(value);
    return matchesStringPattern(pattern.issuer, issuer) && matchesStringPattern(pattern.subject, subject);
  },
};

function text(value: unknown): string {
  return value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
}

function ofAddress(address: (access: Access) => string, unusable?: (access: Access) => string | undefined): Attribute {
  return {
    actual: address,
    unusable: (value, access) =>
      isAddressRange(value) ? unusable?.(access) : `${JSON.stringify(value)} is neither an address nor a range`,
    matches: (value, access) => isInRange(address(access), value),
  };
}

export const remoteIp = ofAddress((access) => access.remoteIp);

export const sourceIp = ofAddress(
  (access) => access.sourceIp,
  ({ tunnel }) => (tunnel ? "the address of the direct peer is not known behind an HBONE tunnel" : undefined),
);

export const destinationIp = ofAddress((access) => access.destinationIp);
