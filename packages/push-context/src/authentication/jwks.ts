import { durationMs } from "@bufbuild/protobuf/wkt";
import { jwksFault, requestAuthentications } from "@istiod/config-schema";
import { collection, query, type QueryContext } from "@istiod/incremental";
import type { JWTRule } from "@istiod/istio-api/security/v1beta1/request_authentication";
import { type KeySetFetch, type KeySetSource, sourceKey } from "@istiod/jwks";
import { features } from "../mesh/features.js";
import { providerAddress } from "../mesh/provider-address.js";

/** Fetched JSON Web Key Sets as text, by `sourceKey`. They are fetched and committed outside of queries. */
export const fetchedJwks = collection<string>("Jwks");

/** Fetches whose key sets are not current, by `sourceKey`. The resources of proxies do not depend on them. */
export const jwksFetches = collection<KeySetFetch>("JwksFetch");

/**
 * A key set that verifies no token: an EC key whose private key nobody knows, because its point was found by hashing.
 * Its x coordinate is the SHA-256 digest of `unverifiableJwksSeed` with the first number for which there is a point. It
 * substitutes for unavailable keys, because Envoy rejects a listener with an empty key set and would keep the previous
 * listener.
 */
export const unverifiableJwks = JSON.stringify({
  keys: [
    {
      kty: "EC",
      crv: "P-256",
      alg: "ES256",
      x: "ruYy4NgWqQbQQ0wC9zEPJHG8Q-hMADt9AIAkIiAx_Dk",
      y: "2jb0ovN32iPmvO-yn5mfXflR1hSuo7k5n5X1lpMfsRo",
    },
  ],
});

/** Text whose digest is the key of {@link unverifiableJwks}, so that anybody can compute it again. */
export const unverifiableJwksSeed = "istiod: no keys are available, reject every token";

/**
 * Returns the key set that verifies a rule's tokens: the inline one, else the fetched one, else {@link
 * unverifiableJwks}.
 */
export function localJwks(q: QueryContext, rule: JWTRule): string {
  return rule.jwks !== "" ? rule.jwks : (usableJwks(q, rule) ?? unverifiableJwks);
}

function usableJwks(q: QueryContext, source: Pick<KeySetSource, "issuer" | "jwksUri">): string | undefined {
  return q.call(usableFetchedJwks, sourceKey(source));
}

/** The fetched key set with a key. A set that Envoy would reject counts as not fetched. */
const usableFetchedJwks = query("usableFetchedJwks", (q, key: string): string | undefined => {
  const fetched = q.read(fetchedJwks, key);
  return fetched === undefined || jwksFault(fetched) !== undefined ? undefined : fetched;
});

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

/** Timeout of a fetch without one in the rule. Source: `timeout` of Istio's RequestAuthentication. */
const defaultTimeoutMs = 5000;

/** The key sets that istiod must fetch for all RequestAuthentications, with their namespaces, sorted by `sourceKey`. */
export const jwksToFetch = query("jwksToFetch", (q): readonly KeySetSource[] => {
  const found = new Map<string, KeySetSource>();
  const owners = new Map<string, Set<string>>();
  for (const { namespace, spec } of q.all(requestAuthentications)) {
    for (const rule of spec.jwtRules) {
      if (!isFetchedByIstiod(q, rule)) continue;
      const key = sourceKey(rule);
      const { jwksUri, timeout } = rule;
      const timeoutMs = Math.max(found.get(key)?.timeoutMs ?? 0, timeout ? durationMs(timeout) : defaultTimeoutMs);
      // The issuer does not matter to the fetch of a URI, and many issuers may share one.
      owners.set(key, (owners.get(key) ?? new Set()).add(namespace));
      found.set(key, { issuer: jwksUri === "" ? rule.issuer : "", jwksUri, timeoutMs });
    }
  }
  return [...found]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, source]) => ({ ...source, owners: [...(owners.get(key) ?? [])].sort() }));
});

/** A JWT rule whose fetched keys are missing or stale. Without keys, all tokens of its issuer are rejected. */
export interface JwksProblem {
  /** Index in `jwtRules`. */
  readonly index: number;
  readonly rule: JWTRule;
  readonly isMissing: boolean;
  /** Undefined if nothing fetches keys, such as in an analysis of files. */
  readonly fetch: KeySetFetch | undefined;
}

/** The JWT rules of a RequestAuthentication (`namespace/name`) whose keys istiod fetches, and which are not current. */
export const jwksProblems = query("jwksProblems", (q, key: string): readonly JwksProblem[] => {
  const rules = q.read(requestAuthentications, key)?.spec.jwtRules ?? [];
  return rules.flatMap((rule, index): readonly JwksProblem[] => {
    if (!isFetchedByIstiod(q, rule)) return [];
    const fetch = q.read(jwksFetches, sourceKey(rule));
    const isMissing = usableJwks(q, rule) === undefined;
    return isMissing || fetch?.state === "stale" ? [{ index, rule, isMissing, fetch }] : [];
  });
});

function isFetchedByIstiod(q: QueryContext, rule: JWTRule): boolean {
  return rule.jwks === "" && remoteJwksServer(q, rule) === undefined;
}
