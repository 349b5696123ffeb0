import { createPublicKey, type JsonWebKey, X509Certificate } from "node:crypto";

/** Limit on the number of keys in a bundle. */
const maxKeys = 200;

/** The roots of a SPIFFE bundle, or the reason why it is not usable. */
export type SpiffeBundle =
  | { readonly roots: readonly string[]; readonly fault?: never }
  | { readonly roots?: never; readonly fault: string };

/**
 * Reads the X.509 roots of a SPIFFE bundle, in PEM: the keys for `x509-svid` of a JWK set, each with exactly one
 * certificate in `x5c`, which is that of a CA and has the key. Other keys, such as those for `jwt-svid`, are skipped.
 * One invalid root makes the whole bundle invalid. Sources: SPIFFE Trust Domain and Bundle §4, X.509-SVID §6,
 * pkg/spiffe/spiffe.go.
 */
export function readSpiffeBundle(text: string): SpiffeBundle {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return { fault: "is not JSON" };
  }
  const keys = isRecord(document) ? document["keys"] : undefined;
  if (!Array.isArray(keys)) return { fault: "has no keys" };
  if (keys.length > maxKeys) return { fault: `has ${keys.length} keys, at most ${maxKeys} are accepted` };
  const roots: string[] = [];
  for (const [index, key] of keys.entries()) {
    if (!isRecord(key) || key["use"] !== "x509-svid") continue;
    const { root, fault } = rootOf(key);
    if (fault !== undefined) return { fault: `keys[${index}]: ${fault}` };
    roots.push(root);
  }
  return roots.length === 0 ? { fault: "has no key for x509-svid" } : { roots: [...new Set(roots)] };
}

/** Returns the reason why a text is not a usable SPIFFE bundle; undefined if it is one. */
export function spiffeBundleFault(text: string): string | undefined {
  return readSpiffeBundle(text).fault;
}

/**
 * Returns the URL of a bundle endpoint, which is always fetched over HTTPS. As in Istio, the scheme may be missing.
 * Undefined if it is not such a URL.
 */
export function bundleEndpointUrl(text: string): string | undefined {
  const url = text.startsWith("https://") ? text : `https://${text}`;
  if (text.includes("://") && url !== text) return undefined;
  return URL.canParse(url) ? url : undefined;
}

type Root = { readonly root: string; readonly fault?: never } | { readonly root?: never; readonly fault: string };

function rootOf(key: Readonly<Record<string, unknown>>): Root {
  const chain = key["x5c"];
  if (!Array.isArray(chain) || chain.length !== 1 || typeof chain[0] !== "string")
    return { fault: `expected 1 certificate in x5c, got ${Array.isArray(chain) ? chain.length : "none"}` };
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(Buffer.from(chain[0], "base64"));
  } catch {
    return { fault: "its certificate cannot be read" };
  }
  if (!certificate.ca) return { fault: "its certificate is not that of a CA" };
  return hasKey(certificate, key) ? { root: pemOf(certificate) } : { fault: "its certificate has another key" };
}

function hasKey(certificate: X509Certificate, key: JsonWebKey): boolean {
  try {
    const { kty, n, e, crv, x, y } = key;
    const given = { kty, n, e, crv, x, y } as JsonWebKey;
    return createPublicKey({ key: given, format: "jwk" }).equals(certificate.publicKey);
  } catch {
    return false;
  }
}

function pemOf(certificate: X509Certificate): string {
  return `${certificate.toString().trim()}\n`;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
