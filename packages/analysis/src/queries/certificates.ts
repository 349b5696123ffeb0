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

/** A fault in the content of a Secret. */
export interface CredentialFault {
  readonly text: string;
  /** True if proxies use it all the same, and their peers reject it. */
  readonly served: boolean;
}

/**
 * Explains why a Secret has no valid certificate; undefined if it has one, or if there is no such Secret.
 *
 * @param key key of the Secret in its collection
 */
export function certificateFault(q: QueryContext, key: string): CredentialFault | undefined {
  return faultNow(q, q.call(certificate, key), "its certificate");
}

/** Explains why a Secret has no valid root certificates; undefined if it has, or if there is no such Secret. */
export function rootsFault(q: QueryContext, key: string): CredentialFault | undefined {
  return faultNow(q, q.call(roots, key), "its first root certificate");
}

function faultNow(q: QueryContext, found: Validity | string | undefined, what: string): CredentialFault | undefined {
  if (found === undefined) return undefined;
  if (typeof found === "string") return { text: found, served: false };
  const time = q.read(now, nowKey);
  if (time === undefined) return undefined;
  if (found.to < time) return { text: `${what} expired at ${new Date(found.to).toISOString()}`, served: true };
  return found.from > time + nowPrecision
    ? { text: `${what} is not valid before ${new Date(found.from).toISOString()}`, served: true }
    : undefined;
}

/** The validity of the first root certificate of a Secret, or the reason why it has none. */
const roots = query("rootsOfSecret", (q, key: string): Validity | string | undefined => {
  const data = q.read(secrets, key)?.spec.data;
  if (data === undefined) return undefined;
  const name = ["cacert", "ca.crt"].find((each) => (data[each]?.length ?? 0) > 0);
  return name === undefined
    ? `it has no cacert or ca.crt; it has ${listed(Object.keys(data).sort())}`
    : readValidity(name, data[name]);
});

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
    return `it has no ${keyPairs.map(([cert, key]) => `${cert} and ${key}`).join(", and no ")}; it has ${listed(names)}`;
  }
  return readValidity(pair[0], data[pair[0]]);
}

function readValidity(name: string, content: Uint8Array | undefined): Validity | string {
  const der = firstPemBlock(new TextDecoder().decode(content));
  if (der === undefined) return `its ${name} is not PEM`;
  try {
    const { validFrom, validTo } = new X509Certificate(der);
    return { from: Date.parse(validFrom), to: Date.parse(validTo) };
  } catch {
    return `its ${name} does not begin with a certificate`;
  }
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? "no data" : names.join(", ");
}

/** Returns the content of the first block of a PEM text, of whatever type. */
function firstPemBlock(text: string): Buffer | undefined {
  const begin = /-----BEGIN ([A-Z0-9 ]+)-----/.exec(text);
  if (begin === null) return undefined;
  const from = begin.index + begin[0].length;
  const to = text.indexOf(`-----END ${begin[1]}-----`, from);
  return to < 0 ? undefined : Buffer.from(text.slice(from, to), "base64");
}
