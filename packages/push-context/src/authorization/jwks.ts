import { jwksFault, requestAuthentications } from "@istiod/config-schema";
import { collection, query, type QueryContext } from "@istiod/incremental";
import type { JWTRule } from "@istiod/istio-api/security/v1beta1/request_authentication";
import { features } from "../mesh/features.js";
import { providerAddress } from "./provider-address.js";

/** Source of an issuer's keys. */
export interface JwksSource {
  readonly issuer: string;
  /** Empty: the URI is discovered from the issuer's OpenID configuration. */
  readonly jwksUri: string;
}

/** Fetched JSON Web Key Sets as text, by {@link jwksKey}. They are fetched and committed outside of queries. */
export const fetchedJwks = collection<string>("Jwks");

export function jwksKey({ issuer, jwksUri }: JwksSource): string {
  return `${issuer} ${jwksUri}`;
}

/**
 * A key set that verifies no token: a public RSA key whose private key was discarded. It substitutes for unavailable
 * keys, because Envoy rejects a listener with an empty key set and would keep the previous listener. Istio does the
 * same with a key of its own (pilot/pkg/model/jwks_resolver.go).
 */
export const unverifiableJwks = JSON.stringify({
  keys: [
    {
      kty: "RSA",
      e: "AQAB",
      n: "pF1d_yctyJ5t_oIdjdbQRebmit9Euej263PoYo91FtqrNS2g0WrZ-Fe3vRfGsIUXd2oBi2uI2v9Kmg-cDP8QnZRI3iLTIPtgioNn12KjU5xs8BzOKqKiHAQz64K3uoKYkxuoku7Z6LREivhbQeieEDCOcc3-dBzNALVNm5Y9C0bn2wrcWf3FIcWlKac74BGXjOjaDxBEvVY_LWhzl5sNYGiZnx2AlSlFQvsidUUJDaCCjmenBJSLqpYP88lqHmHExdRwLiu3lwsQOb4ELC07TnO7AjJF6ML_1Baqw5HoMj5fPLwvybjPOuANwSk6cRRbMYw-MD2OnXzfssF7h8Dtjw",
    },
  ],
});

/**
 * Returns the key set that verifies a rule's tokens: the inline one, else the fetched one, else {@link
 * unverifiableJwks}.
 */
export function localJwks(q: QueryContext, rule: JWTRule): string {
  return rule.jwks !== "" ? rule.jwks : (usableJwks(q, rule) ?? unverifiableJwks);
}

/** Returns the fetched keys of an issuer. A set that Envoy would reject counts as not fetched. */
function usableJwks(q: QueryContext, source: JwksSource): string | undefined {
  const fetched = q.read(fetchedJwks, jwksKey(source));
  return fetched === undefined || jwksFault(fetched) !== undefined ? undefined : fetched;
}

type FetchMode = "istiod" | "hybrid" | "envoy";

const fetchModes: Readonly<Record<string, FetchMode>> = {
  istiod: "istiod",
  false: "istiod",
  hybrid: "hybrid",
  true: "hybrid",
  envoy: "envoy",
};

/** Server from which a proxy fetches keys. */
export interface JwksServer {
  readonly hostname: string;
  readonly port: number;
}

/**
 * Returns the server from which proxies fetch a rule's keys; undefined if istiod fetches them. With
 * PILOT_JWT_ENABLE_REMOTE_JWKS=hybrid, proxies fetch keys only from services of the mesh; with envoy, from any host.
 */
export function remoteJwksServer(q: QueryContext, { jwksUri }: JWTRule): JwksServer | undefined {
  const mode = fetchModes[features.remoteJwks(q)] ?? "istiod";
  const uri = mode === "istiod" || jwksUri === "" ? undefined : parseUri(jwksUri);
  if (uri === undefined) return undefined;
  const service = q.call(providerAddress, { service: uri.hostname, port: uri.port });
  if (service === undefined && mode === "hybrid") return undefined;
  return { hostname: service?.hostname ?? uri.hostname, port: uri.port };
}

function parseUri(text: string): JwksServer | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, hostname, port } = new URL(text);
  const standard: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };
  const number = port === "" ? standard[protocol] : Number(port);
  return number === undefined ? undefined : { hostname: hostname.replace(/^\[|\]$/g, ""), port: number };
}

/** The key sets that istiod must fetch for all RequestAuthentications, sorted by issuer and URI. */
export const jwksToFetch = query("jwksToFetch", (q): readonly JwksSource[] => {
  const found = new Map<string, JwksSource>();
  for (const { spec } of q.all(requestAuthentications)) {
    for (const rule of spec.jwtRules)
      if (isFetchedByIstiod(q, rule)) found.set(jwksKey(rule), { issuer: rule.issuer, jwksUri: rule.jwksUri });
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, source]) => source);
});

/** A JWT rule without available keys. All tokens of its issuer are rejected. */
export interface MissingJwks {
  /** Index in `jwtRules`. */
  readonly index: number;
  readonly rule: JWTRule;
}

/** The JWT rules of a RequestAuthentication (`namespace/name`) whose keys istiod must fetch and does not have. */
export const missingJwks = query("missingJwks", (q, key: string): readonly MissingJwks[] => {
  const rules = q.read(requestAuthentications, key)?.spec.jwtRules ?? [];
  return rules.flatMap((rule, index) =>
    isFetchedByIstiod(q, rule) && usableJwks(q, rule) === undefined ? [{ index, rule }] : [],
  );
});

function isFetchedByIstiod(q: QueryContext, rule: JWTRule): boolean {
  return rule.jwks === "" && remoteJwksServer(q, rule) === undefined;
}
