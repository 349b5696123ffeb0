import { X509Certificate } from "node:crypto";
import { type SecretObject, secrets } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { now, nowKey, nowPrecision } from "../now.js";

/** The validity of a certificate, in milliseconds since the Unix epoch. */
interface Validity {
  readonly from: number;
  readonly to: number;
}

/** Keys of a certificate and its private key in a Secret. The first complete pair is used. */
const keyPairs = [
  ["cert", "key"],
  ["tls.crt", "tls.key"],
] as const;

/**
 * Explains why a Secret has no valid certificate; undefined if it has one, or if there is no such Secret.
 *
 * @param key key of the Secret in its collection
 */
export function certificateFault(q: QueryContext, key: string): string | undefined {
  const found = q.call(certificate, key);
  if (found === undefined || typeof found === "string") return found;
  const time = q.read(now, nowKey);
  if (time === undefined) return undefined;
  if (found.to < time) return `its certificate expired at ${new Date(found.to).toISOString()}`;
  return found.from > time + nowPrecision
    ? `its certificate is not valid before ${new Date(found.from).toISOString()}`
    : undefined;
}

/**
 * The validity of a Secret's certificate, or the reason why it has none; undefined if there is no such Secret. Parsed
 * once for all references.
 */
const certificate = query("certificateOfSecret", (q, key: string): Validity | string | undefined => {
  const secret = q.read(secrets, key);
  return secret && readCertificate(secret);
});

function readCertificate({ spec: { data } }: SecretObject): Validity | string {
  const pair = keyPairs.find((keys) => keys.every((key) => (data[key]?.length ?? 0) > 0));
  if (pair === undefined) {
    const names = Object.keys(data).sort();
    return `it has no ${keyPairs.map(([cert, key]) => `${cert} and ${key}`).join(", and no ")}; it has ${names.length === 0 ? "no data" : names.join(", ")}`;
  }
  const der = firstPemBlock(new TextDecoder().decode(data[pair[0]]));
  if (der === undefined) return `its ${pair[0]} is not PEM`;
  try {
    const { validFrom, validTo } = new X509Certificate(der);
    return { from: Date.parse(validFrom), to: Date.parse(validTo) };
  } catch {
    return `its ${pair[0]} does not begin with a certificate`;
  }
}

/** Returns the content of the first block of a PEM text, of whatever type. */
function firstPemBlock(text: string): Buffer | undefined {
  const begin = /-----BEGIN ([A-Z0-9 ]+)-----/.exec(text);
  if (begin === null) return undefined;
  const from = begin.index + begin[0].length;
  const to = text.indexOf(`-----END ${begin[1]}-----`, from);
  return to < 0 ? undefined : Buffer.from(text.slice(from, to), "base64");
}
