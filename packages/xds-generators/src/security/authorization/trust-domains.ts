/** The mesh's trust domain, then its aliases. */
export type TrustDomains = readonly string[];

/** Stands for the mesh's own trust domain in principals. */
const localTrustDomain = "cluster.local";

/**
 * Replaces the trust domain of principals by each of the mesh's trust domains. Principals of other domains, of any
 * domain (`*`) or of another form are unchanged. Source: pilot/pkg/security/trustdomain.
 */
export function withTrustDomainAliases(principals: readonly string[], trustDomains: TrustDomains): readonly string[] {
  return principals.flatMap((principal) => {
    const parts = principal.split("/");
    const [domain = ""] = parts;
    if (parts.length !== 5 || domain === "*") return [principal];
    if (domain !== localTrustDomain && !trustDomains.some((own) => overlaps(domain, own))) return [principal];
    const rest = principal.slice(domain.length);
    return [...new Set(trustDomains.map((own) => (suffixPatternMatches(domain, own) ? principal : own + rest)))];
  });
}

/** Expands each of the mesh's trust domains to all of them. */
export function expandTrustDomains(domains: readonly string[], trustDomains: TrustDomains): readonly string[] {
  return [...new Set(domains.flatMap((domain) => (trustDomains.includes(domain) ? trustDomains : [domain])))];
}

function overlaps(a: string, b: string): boolean {
  return (
    a === b ||
    b === "*" ||
    prefixPatternMatches(b, a) ||
    prefixPatternMatches(a, b) ||
    suffixPatternMatches(b, a) ||
    suffixPatternMatches(a, b)
  );
}

function prefixPatternMatches(pattern: string, text: string): boolean {
  return pattern.endsWith("*") && text.startsWith(pattern.slice(0, -1));
}

function suffixPatternMatches(pattern: string, text: string): boolean {
  return pattern.startsWith("*") && text.endsWith(pattern.slice(1));
}
