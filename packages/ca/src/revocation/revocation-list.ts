import type { X509Certificate } from "node:crypto";
import { reasonOf } from "@istiod/runtime";
import { verifySignature } from "../authority/request-signature.js";
import { DerReader } from "../der/reader.js";
import { contextConstructed, tags } from "../der/tags.js";
import { CaError } from "../errors.js";
import { encodePem } from "../pem.js";
import { certificateNames, serialNumberOf } from "./certificate-names.js";
import { readTime } from "./time.js";

/** A certificate revocation list of one CA (RFC 5280 §5). */
export interface RevocationList {
  /** One PEM block with a newline at its end. */
  readonly pem: string;
  /** DER of the issuer's name in hexadecimal. */
  readonly issuer: string;
  /** Milliseconds since the epoch. */
  readonly thisUpdate: number;
  /** Time at which a newer list is due, in milliseconds since the epoch; absent if the list never expires. */
  readonly nextUpdate?: number;
  /** Serial numbers of the revoked certificates in lower-case hexadecimal, without leading zeros. */
  readonly revoked: ReadonlySet<string>;
  /** Reports whether a CA has the issuer's name and has signed the list. */
  isSignedBy(issuer: X509Certificate): boolean;
}

/** Maximum size of a text with revocation lists. A list with 100,000 entries has about 5 MB in PEM. */
const maxLength = 16 * 1024 * 1024;

/**
 * Parses all revocation lists of a PEM text, which must have at least one. Lists of version 2 for all certificates of
 * their issuer are accepted; delta, partial and indirect lists are not, because a certificate that they omit might be
 * revoked.
 *
 * @param what names the text in messages, such as a file
 * @throws CaError `malformed`
 */
export function parseRevocationLists(pem: string, what: string): RevocationList[] {
  if (pem.length > maxLength)
    throw new CaError("malformed", `${what}: ${pem.length} characters, at most ${maxLength} are accepted`);
  const blocks = splitRevocationLists(pem);
  if (blocks.length === 0) throw new CaError("malformed", `${what}: no PEM block "X509 CRL" found`);
  return blocks.map((body, index) => {
    try {
      if (!/^[A-Za-z0-9+/]+={0,2}$/.test(body)) throw new CaError("malformed", "not base64");
      return parse(Buffer.from(body, "base64"));
    } catch (error) {
      const reason = reasonOf(error);
      throw new CaError("malformed", `${what}: revocation list ${index + 1} of ${blocks.length}: ${reason}`, {
        cause: error,
      });
    }
  });
}

const beginMarker = "-----BEGIN X509 CRL-----";
const endMarker = "-----END X509 CRL-----";

/** Returns the base64 text of each block. */
function splitRevocationLists(pem: string): string[] {
  const bodies: string[] = [];
  for (let at = pem.indexOf(beginMarker); at >= 0;) {
    const start = at + beginMarker.length;
    const end = pem.indexOf(endMarker, start);
    if (end < 0) break;
    bodies.push(pem.slice(start, end).replace(/\s+/g, ""));
    at = pem.indexOf(beginMarker, end);
  }
  return bodies;
}

function parse(der: Buffer): RevocationList {
  const whole = new DerReader(der);
  const list = whole.enter(tags.sequence, "list");
  whole.end("list");
  const signed = list.element(tags.sequence, "signed part");
  const algorithm = list.contents(tags.sequence, "signature algorithm");
  const signature = list.octetsOfBitString("signature");
  list.end("list");

  const info = new DerReader(signed).enter(tags.sequence, "signed part");
  if (info.nextTag === tags.integer && !info.contents(tags.integer, "version").equals(version2))
    throw new CaError("malformed", "version: expected 2");
  if (!info.contents(tags.sequence, "signature algorithm").equals(algorithm))
    throw new CaError("malformed", "signature algorithm: differs between the list and its signed part");
  const issuer = info.element(tags.sequence, "issuer").toString("hex");
  const thisUpdate = readTime(info, "thisUpdate");
  const hasNextUpdate = info.nextTag === tags.utcTime || info.nextTag === tags.generalizedTime;
  const nextUpdate = hasNextUpdate ? readTime(info, "nextUpdate") : undefined;
  const revoked = info.nextTag === tags.sequence ? revokedSerials(info.enter(tags.sequence, "entries")) : new Set("");
  if (!info.isAtEnd) {
    const extensions = info.enter(contextConstructed(0), "extensions");
    checkExtensions(extensions.enter(tags.sequence, "extensions"), "extension");
    extensions.end("extensions");
  }
  info.end("signed part");
  const checked = new WeakMap<X509Certificate, boolean>();
  const isSignedBy = (certificate: X509Certificate): boolean => {
    let result = checked.get(certificate);
    if (result === undefined) {
      result =
        certificateNames(certificate).subject === issuer &&
        verifySignature(signed, algorithm, signature, certificate.publicKey);
      checked.set(certificate, result);
    }
    return result;
  };
  const pem = encodePem("X509 CRL", der);
  return { pem, issuer, thisUpdate, revoked, isSignedBy, ...(nextUpdate !== undefined && { nextUpdate }) };
}

const version2 = Buffer.of(1);

function revokedSerials(entries: DerReader): Set<string> {
  const serials = new Set<string>();
  while (!entries.isAtEnd) {
    const entry = entries.enter(tags.sequence, "entry");
    serials.add(serialNumberOf(entry.contents(tags.integer, "serial number")));
    readTime(entry, "revocation date");
    if (!entry.isAtEnd) checkExtensions(entry.enter(tags.sequence, "entry extensions"), "entry extension");
    entry.end("entry");
  }
  return serials;
}

/** Rejects critical extensions: those of RFC 5280 limit a list to some certificates, or to changes of another list. */
function checkExtensions(extensions: DerReader, what: string): void {
  while (!extensions.isAtEnd) {
    const extension = extensions.enter(tags.sequence, what);
    const type = extension.contents(tags.oid, what).toString("hex");
    const isCritical = extension.nextTag === tags.boolean && extension.contents(tags.boolean, what)[0] === 0xff;
    extension.contents(tags.octetString, what);
    extension.end(what);
    if (isCritical)
      throw new CaError("malformed", `${what} ${type.slice(0, 64)} is critical: only complete lists are accepted`);
  }
}
