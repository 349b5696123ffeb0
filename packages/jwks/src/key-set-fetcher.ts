import type { DocumentClient, GetOptions } from "./http/document-client.js";
import { JwksError } from "./jwks-error.js";
import type { KeySetSource } from "./source.js";

/** Gets a document as text. @throws JwksError */
export type GetDocument = (url: string, options: GetOptions) => Promise<string>;

export interface FetcherOptions {
  readonly client: Pick<DocumentClient, "get">;
  /** Returns the reason why a text is no usable key set; undefined if it is one. */
  readonly fault: (text: string) => string | undefined;
  /** Is called after each request of a document. */
  readonly onFetched?: (succeeded: boolean) => void;
}

/**
 * Fetches a key set as text. What goes on after the end of the fetch, such as the resolution of a name that cannot be
 * ended, is passed to `hold`.
 *
 * @throws JwksError
 */
export type FetchKeySet = (
  source: KeySetSource,
  signal: AbortSignal,
  hold?: (until: Promise<unknown>) => void,
) => Promise<string>;

/** Maximum timeout of a fetch in milliseconds, whatever a policy says. */
const maxTimeoutMs = 60_000;
const wellKnownPath = "/.well-known/openid-configuration";

/** Returns the function that fetches key sets by their URI, or by OpenID Connect Discovery 1.0 from their issuer. */
export function keySetFetcher({ client, fault, onFetched }: FetcherOptions): FetchKeySet {
  const get: GetDocument = async (url, options) => {
    try {
      const text = await client.get(url, options);
      onFetched?.(true);
      return text;
    } catch (error) {
      if (!(error instanceof JwksError && error.code === "aborted")) onFetched?.(false);
      throw error;
    }
  };
  return async ({ issuer, jwksUri, timeoutMs }, signal, hold) => {
    const options = {
      timeoutMs: Math.max(1, Math.min(timeoutMs, maxTimeoutMs)),
      signal,
      ...(hold !== undefined && { hold }),
    };
    const uri = jwksUri === "" ? await discoverUri(get, issuer, options) : jwksUri;
    const text = await get(uri, options);
    const reason = fault(text);
    if (reason !== undefined) throw new JwksError("document", `the answer ${reason}`);
    return text;
  };
}

/** Returns the URI of an issuer's keys. Source: OpenID Connect Discovery 1.0, section 4. */
async function discoverUri(get: GetDocument, issuer: string, options: GetOptions): Promise<string> {
  if (!/^https?:\/\//i.test(issuer))
    throw new JwksError("url", `the issuer is no URL, so that its keys cannot be discovered; set jwksUri or jwks`);
  const text = await get(`${issuer.replace(/\/$/, "")}${wellKnownPath}`, options);
  const uri = memberOf(text, "jwks_uri");
  if (typeof uri !== "string" || uri === "")
    throw new JwksError("document", `${wellKnownPath} of the issuer has no jwks_uri`);
  return uri;
}

function memberOf(text: string, name: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && Object.hasOwn(value, name)
      ? (value as Readonly<Record<string, unknown>>)[name]
      : undefined;
  } catch (cause) {
    throw new JwksError("document", `${wellKnownPath} of the issuer is not JSON`, { cause });
  }
}
