/** Source of a key set: a URI, or an issuer whose OpenID configuration names the URI. */
export interface KeySetSource {
  readonly issuer: string;
  /** Empty: the URI is discovered from the issuer. */
  readonly jwksUri: string;
  /** Timeout of each fetch in milliseconds. */
  readonly timeoutMs: number;
  /** Those who want it, such as namespaces, which take turns. Default: one that has no name. */
  readonly owners?: readonly string[];
}

/** Returns the host of a source's first request; empty if it has none. */
export function hostOf({ issuer, jwksUri }: Pick<KeySetSource, "issuer" | "jwksUri">): string {
  const url = jwksUri === "" ? issuer : jwksUri;
  return URL.canParse(url) ? new URL(url).host : "";
}

/** Returns the key of a source. Sources with the same URI, or the same issuer without one, share their key set. */
export function sourceKey({ issuer, jwksUri }: Pick<KeySetSource, "issuer" | "jwksUri">): string {
  return jwksUri === "" ? `issuer ${issuer}` : `uri ${jwksUri}`;
}

/** Returns what a source is called in messages: its URI without credentials, or its issuer. */
export function describeSource({ issuer, jwksUri }: Pick<KeySetSource, "issuer" | "jwksUri">): string {
  if (jwksUri === "") return `issuer ${JSON.stringify(issuer)}`;
  if (!URL.canParse(jwksUri)) return JSON.stringify(jwksUri);
  const url = new URL(jwksUri);
  url.username = "";
  url.password = "";
  return url.href;
}
