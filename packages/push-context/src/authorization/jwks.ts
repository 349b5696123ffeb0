import { requestAuthentications } from "@istiod/config-ingestion";
import { collection, query, type QueryContext } from "@istiod/incremental";
import type { JWTRule } from "@istiod/istio-api/security/v1beta1/request_authentication";

/** Where keys of an issuer are fetched from. */
export interface JwksSource {
  readonly issuer: string;
  /** Empty: the issuer's own OpenID configuration says. */
  readonly jwksUri: string;
}

/** Keys that were fetched: the text of a JSON Web Key Set, by {@link jwksKey}. What fetches them is outside of queries. */
export const fetchedJwks = collection<string>("Jwks");

export function jwksKey({ issuer, jwksUri }: JwksSource): string {
  return `${issuer} ${jwksUri}`;
}

/** The keys of an issuer, once they were fetched. */
export function jwksOf(q: QueryContext, source: JwksSource): string | undefined {
  return q.read(fetchedJwks, jwksKey(source));
}

/** Where keys must be fetched from for the RequestAuthentications that there are; those with keys of their own need none. Sorted by issuer and URI. */
export const wantedJwks = query("wantedJwks", (q): readonly JwksSource[] => {
  const found = new Map<string, JwksSource>();
  for (const { spec } of q.all(requestAuthentications)) {
    for (const rule of spec.jwtRules.filter(needsFetching)) found.set(jwksKey(rule), { issuer: rule.issuer, jwksUri: rule.jwksUri });
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, source]) => source);
});

function needsFetching({ jwks }: JWTRule): boolean {
  return jwks === "";
}
