import { X509Certificate } from "node:crypto";
import { configMaps, type SecretObject, secrets } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import {
  findKeyPair,
  findRootCertificates,
  firstListExpiry,
  keyPairFault,
  type CertificateUse,
  rootsFault as faultOfRoots,
  type SecretEntries,
} from "@istiod/credentials";
import { now, nowKey, nowPrecision } from "../now.js";

/** The validity of a certificate: its time, in milliseconds since the Unix epoch, and hosts. */
interface Validity {
  readonly from: number;
  readonly to: number;
  /** The hosts that it names, in lower case. Absent if it identifies servers in another way, such as by a URI. */
  readonly hosts: readonly string[] | undefined;
}

const code = "IST0161";

/** A fault in the content of a Secret. */
export interface CredentialFault {
  readonly code: "IST0161" | "MESH0061";
  readonly text: string;
  /** True if proxies use it all the same, and their peers reject it. */
  readonly served: boolean;
}

/** A Secret, by its key in its collection, and what its certificate is used for. */
export interface CertificateSecret {
  readonly key: string;
  readonly use: CertificateUse;
}

/** Explains why a Secret has no valid certificate; undefined if it has one, or if there is no such Secret. */
export function certificateFault(q: QueryContext, secret: CertificateSecret): CredentialFault | undefined {
  const found = q.call(certificate, secret);
  const ofTime = faultNow(q, found, "its certificate");
  if (typeof found !== "object" || !("keyFault" in found)) return ofTime;
  const { keyFault } = found;
  return ofTime === undefined
    ? { code: "MESH0061", text: keyFault, served: false }
    : { ...ofTime, text: `${ofTime.text}; ${keyFault}`, served: false };
}

/**
 * Returns the hosts that the certificate of a Secret names, in lower case; undefined if there is no certificate, or if
 * it identifies servers in another way.
 */
export function certificateHosts(q: QueryContext, secret: CertificateSecret): readonly string[] | undefined {
  const found = q.call(certificate, secret);
  return typeof found === "object" ? found.hosts : undefined;
}

/** An object with root certificates, by its key in its collection. */
export interface RootsObject {
  readonly kind: "Secret" | "ConfigMap";
  readonly key: string;
}

/**
 * Explains why an object has no valid root certificates, or no valid revocation list; undefined if there is no fault,
 * or no such object.
 */
export function rootsFault(q: QueryContext, object: RootsObject): CredentialFault | undefined {
  const found = q.call(roots, object);
  const fault = faultNow(q, found, "its first root certificate");
  if (fault !== undefined || found === undefined || typeof found === "string") return fault;
  const time = q.read(now, nowKey);
  const { listExpiry } = found;
  return time !== undefined && listExpiry !== undefined && listExpiry < time
    ? { code, text: `its revocation list expired at ${new Date(listExpiry).toISOString()}`, served: true }
    : undefined;
}

function faultNow(q: QueryContext, found: Validity | string | undefined, what: string): CredentialFault | undefined {
  if (found === undefined) return undefined;
  if (typeof found === "string") return { code, text: found, served: false };
  const time = q.read(now, nowKey);
  if (time === undefined) return undefined;
  if (found.to < time) return { code, text: `${what} expired at ${new Date(found.to).toISOString()}`, served: true };
  return found.from > time + nowPrecision
    ? { code, text: `${what} is not valid before ${new Date(found.from).toISOString()}`, served: true }
    : undefined;
}

interface RootsValidity extends Validity {
  readonly listExpiry?: number;
}

/** The validity of the first root certificate of an object, or the reason why there are none that proxies get. */
const roots = query("rootsOfObject", (q, object: RootsObject): RootsValidity | string | undefined => {
  const data = entriesOf(q, object);
  if (data === undefined) return undefined;
  const found = findRootCertificates(data);
  if (found === undefined) return `it has no cacert or ca.crt; it has ${listed(Object.keys(data).sort())}`;
  const { certificates, crl } = found;
  const [name, listName] = data["cacert"] === certificates ? ["cacert", "crl"] : ["ca.crt", "ca.crl"];
  const validity = readValidity(name, certificates);
  if (typeof validity === "string") return validity;
  if (faultOfRoots({ certificates }) !== undefined) return `in its ${name}, ${faultOfRoots({ certificates })}`;
  const fault = faultOfRoots(found);
  if (fault !== undefined) return `in its ${listName}, ${fault}`;
  const listExpiry = crl && firstListExpiry(crl);
  return { ...validity, ...(listExpiry !== undefined && { listExpiry }) };
});

function entriesOf(q: QueryContext, { kind, key }: RootsObject): SecretEntries | undefined {
  if (kind === "Secret") return q.read(secrets, key)?.spec.data;
  const texts = q.read(configMaps, key)?.spec.data;
  const entries = Object.entries(texts ?? {}).map(([name, text]) => [name, new TextEncoder().encode(text)] as const);
  return texts && Object.fromEntries(entries);
}

/** A certificate with a key that proxies cannot use with it. istiod does not send it. */
interface UnusablePair extends Validity {
  readonly keyFault: string;
}

/**
 * The validity of a Secret's certificate, or the reason why it has none; undefined if there is no such Secret. Parsed
 * once for all references.
 */
const certificate = query(
  "certificateOfSecret",
  (q, { key, use }: CertificateSecret): Validity | UnusablePair | string | undefined => {
    const secret = q.read(secrets, key);
    return secret && readCertificate(secret, use);
  },
);

function readCertificate({ spec: { data } }: SecretObject, use: CertificateUse): Validity | UnusablePair | string {
  const pair = findKeyPair(data);
  if (pair === undefined)
    return `it has no cert and key, and no tls.crt and tls.key; it has ${listed(Object.keys(data).sort())}`;
  const [certificateName, keyName] = data["cert"] === pair.chain ? ["cert", "key"] : ["tls.crt", "tls.key"];
  const validity = readValidity(certificateName, pair.chain);
  if (typeof validity === "string") return validity;
  const fault = keyPairFault(pair, use);
  return fault === undefined
    ? validity
    : { ...validity, keyFault: `in its ${certificateName} and ${keyName}, ${fault}` };
}

function readValidity(name: string, content: Uint8Array | undefined): Validity | string {
  const der = firstPemBlock(new TextDecoder().decode(content));
  if (der === undefined) return `its ${name} is not PEM`;
  try {
    const read = new X509Certificate(der);
    return { from: Date.parse(read.validFrom), to: Date.parse(read.validTo), hosts: hostsOf(read) };
  } catch {
    return `its ${name} does not begin with a certificate`;
  }
}

/**
 * Returns the DNS names of a certificate. Without any subject alternative name, the common name counts, as many clients
 * still accept it.
 */
function hostsOf({ subject, subjectAltName }: X509Certificate): readonly string[] | undefined {
  if (subjectAltName === undefined) {
    const [, name] = /(?:^|\n)CN=(.+)$/m.exec(subject) ?? [];
    return name === undefined ? [] : [name.toLowerCase()];
  }
  const names = subjectAltName.split(", ").flatMap((name) => (name.startsWith("DNS:") ? [name.slice(4)] : []));
  return names.length === 0 ? undefined : names.map((name) => name.toLowerCase());
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
