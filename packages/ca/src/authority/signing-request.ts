import { CaError } from "../errors.js";
import { DerReader } from "../der/reader.js";
import { contextConstructed, tags } from "../der/tags.js";
import { readSubjectKey, type SubjectKey } from "./public-key-info.js";
import { verifyRequestSignature } from "./request-signature.js";

/** A verified signing request. Istiod's own authority uses the key, and whether there is a common name. */
export interface SigningRequest {
  /** The whole request. */
  readonly der: Buffer;
  readonly key: SubjectKey;
  /** Subject public key info, DER. */
  readonly publicKeyDer: Buffer;
  readonly wantsCommonName: boolean;
  /** Contents of the subject: its relative distinguished names, DER. */
  readonly subject: Buffer;
  /** The attributes one after the other, DER; empty if there are none. */
  readonly attributes: Buffer;
}

/** Limit on the size of a request in characters. A request with an 8192-bit RSA key has less than 5,000. */
export const maxRequestLength = 64 * 1024;

const beginMarker = /-----BEGIN (NEW )?CERTIFICATE REQUEST-----/;
const endMarker = /-----END (NEW )?CERTIFICATE REQUEST-----/;

/** id-at-commonName, 2.5.4.3. */
const commonNameOid = "550403";

/**
 * Reads a PKCS#10 request in PEM and checks its signature (RFC 2986). Its names and extensions are ignored,
 * because the authenticated identity determines the contents of the certificate.
 *
 * @throws CaError `csr`
 */
export async function readSigningRequest(pem: string): Promise<SigningRequest> {
  const der = derOf(pem);
  try {
    const request = parse(der);
    const key = readSubjectKey(request.publicKeyDer);
    await verifyRequestSignature(request.signed, request.algorithm, request.signature, key);
    const { publicKeyDer, subject, attributes } = request;
    return { der, key, publicKeyDer, wantsCommonName: hasCommonName(new DerReader(subject)), subject, attributes };
  } catch (error) {
    throw CaError.from(error, "csr", "signing request cannot be read");
  }
}

interface ParsedRequest {
  /** The signed part. */
  readonly signed: Buffer;
  readonly publicKeyDer: Buffer;
  readonly subject: Buffer;
  readonly attributes: Buffer;
  /** Contents of the signature's AlgorithmIdentifier. */
  readonly algorithm: Buffer;
  readonly signature: Buffer;
}

function parse(der: Buffer): ParsedRequest {
  const whole = new DerReader(der);
  const request = whole.enter(tags.sequence, "request");
  whole.end("request");
  const signed = request.element(tags.sequence, "request info");
  const algorithm = request.contents(tags.sequence, "signature algorithm");
  const signature = request.octetsOfBitString("signature");
  request.end("request");

  const info = new DerReader(signed).enter(tags.sequence, "request info");
  if (!info.contents(tags.integer, "version").equals(version1)) throw new CaError("csr", "version: expected 1");
  const subject = info.contents(tags.sequence, "subject");
  const publicKeyDer = info.element(tags.sequence, "public key");
  const attributes = info.isAtEnd ? Buffer.alloc(0) : info.contents(contextConstructed(0), "attributes");
  info.end("request info");
  return { signed, publicKeyDer, subject, attributes, algorithm, signature };
}

const version1 = Buffer.of(0);

function hasCommonName(subject: DerReader): boolean {
  let found = false;
  while (!subject.isAtEnd) {
    const names = subject.enter(tags.set, "subject");
    while (!names.isAtEnd) {
      const name = names.enter(tags.sequence, "subject");
      const type = name.contents(tags.oid, "subject attribute").toString("hex");
      const value = name.contents(name.nextTag ?? tags.utf8String, "subject attribute");
      name.end("subject attribute");
      found ||= type === commonNameOid && value.length > 0;
    }
  }
  return found;
}

function derOf(pem: string): Buffer {
  if (pem.length > maxRequestLength) {
    throw new CaError("csr", `signing request of ${pem.length} characters: at most ${maxRequestLength} are accepted`);
  }
  const begin = beginMarker.exec(pem);
  const end = endMarker.exec(pem);
  if (!begin || !end || end.index < begin.index) {
    throw new CaError("csr", 'signing request: no PEM block "CERTIFICATE REQUEST" found');
  }
  const body = pem.slice(begin.index + begin[0].length, end.index).replace(/\s+/g, "");
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(body)) throw new CaError("csr", "signing request: its PEM block is not base64");
  return Buffer.from(body, "base64");
}
