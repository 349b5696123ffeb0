import { createPublicKey, randomBytes, sign, type KeyObject } from "node:crypto";
import { isIP } from "node:net";
import { promisify } from "node:util";
import { DerReader } from "../der/reader.js";
import { contextConstructed, contextPrimitive, tags } from "../der/tags.js";
import { derElement, derInteger, derTime } from "../der/writer.js";
import { keyTypeOf } from "../keys.js";
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
} from "../x509.js";
import { addressOctets } from "./address-octets.js";
import type { SigningBundle } from "./signing-bundle.js";

/** The fields in which leaves of the same CA differ. */
export interface LeafBlanks {
  /** Magnitude of the serial number. */
  readonly serialNumber: Uint8Array;
  /** Milliseconds since the epoch. */
  readonly notBefore: number;
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
  readonly commonName: string | undefined;
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKeyDer: Uint8Array;
  /** Subject alternative names. */
  readonly names: readonly string[];
}

/** The parts that all leaves of a signing certificate have in common, encoded once (RFC 5280 §4.1). */
export interface LeafTemplate {
  /** AlgorithmIdentifier of the signature. */
  readonly algorithm: Buffer;
  /** The subject of the signing certificate, as encoded there. */
  readonly issuer: Buffer;
  /** All extensions except the subject alternative names. */
  readonly extensions: Buffer;
  readonly hash: "sha256" | "sha384";
  readonly key: KeyObject;
}

const version3 = derElement(contextConstructed(0), derElement(tags.integer, Uint8Array.of(2)));
const critical = derElement(tags.boolean, Uint8Array.of(0xff));
const subjectAlternativeNameOid = derElement(tags.oid, Buffer.from("551d11", "hex"));
const commonNameOid = derElement(tags.oid, Buffer.from("550403", "hex"));

/** AlgorithmIdentifiers: sha256WithRSAEncryption, ecdsa-with-SHA256 and ecdsa-with-SHA384. */
const algorithms = {
  rsa: { hash: "sha256", identifier: "300d06092a864886f70d01010b0500" },
  "P-256": { hash: "sha256", identifier: "300a06082a8648ce3d040302" },
  "P-384": { hash: "sha384", identifier: "300a06082a8648ce3d040303" },
} as const;

const templates = new WeakMap<SigningBundle, LeafTemplate>();

/** Returns the template of a signing certificate, created at its first use. */
export function leafTemplate(signer: SigningBundle): LeafTemplate {
  const known = templates.get(signer);
  if (known !== undefined) return known;
  const template = createTemplate(signer);
  templates.set(signer, template);
  return template;
}

function createTemplate({ certificate, privateKey }: SigningBundle): LeafTemplate {
  const type = keyTypeOf(createPublicKey(privateKey), "malformed");
  const { hash, identifier } = algorithms[type.type === "rsa" ? "rsa" : type.curve];
  const keyId = new X509Certificate(certificate.raw).getExtension(SubjectKeyIdentifierExtension)?.keyId;
  const extensions = [
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature | KeyUsageFlags.keyEncipherment, true),
    new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
    new BasicConstraintsExtension(false, undefined, true),
    ...(keyId === undefined ? [] : [new AuthorityKeyIdentifierExtension(keyId)]),
  ];
  return {
    algorithm: Buffer.from(identifier, "hex"),
    issuer: subjectOf(certificate.raw),
    extensions: Buffer.concat(extensions.map(({ rawData }) => new Uint8Array(rawData))),
    hash,
    key: privateKey,
  };
}

/** Returns the subject of a certificate in its original encoding, which issuers of leaves must repeat. */
function subjectOf(der: Buffer): Buffer {
  const fields = new DerReader(der)
    .enter(tags.sequence, "certificate")
    .enter(tags.sequence, "certificate to be signed");
  if (fields.nextTag === contextConstructed(0)) fields.contents(contextConstructed(0), "version");
  fields.contents(tags.integer, "serial number");
  fields.contents(tags.sequence, "signature algorithm");
  fields.contents(tags.sequence, "issuer");
  fields.contents(tags.sequence, "validity");
  return fields.element(tags.sequence, "subject");
}

const signInPool: (algorithm: string, data: Buffer, key: KeyObject) => Promise<Buffer> = promisify(sign);

/** Fills in a template and signs it, in a thread of libuv's pool. Returns the certificate in DER. */
export async function signTemplate(template: LeafTemplate, blanks: LeafBlanks): Promise<Buffer> {
  const certificate = certificateToBeSigned(template, blanks);
  const signature = await signInPool(template.hash, certificate, template.key);
  return derElement(
    tags.sequence,
    certificate,
    template.algorithm,
    derElement(tags.bitString, Uint8Array.of(0), signature),
  );
}

/** Returns the TBSCertificate in DER. */
export function certificateToBeSigned(template: LeafTemplate, blanks: LeafBlanks): Buffer {
  const { commonName, names } = blanks;
  return derElement(
    tags.sequence,
    version3,
    derInteger(blanks.serialNumber),
    template.algorithm,
    template.issuer,
    derElement(tags.sequence, derTime(blanks.notBefore), derTime(blanks.notAfter)),
    commonName === undefined ? emptySequence : subject(commonName),
    blanks.publicKeyDer,
    derElement(
      contextConstructed(3),
      derElement(tags.sequence, template.extensions, alternativeNames(names, commonName === undefined)),
    ),
  );
}

const emptySequence = derElement(tags.sequence);

function subject(commonName: string): Buffer {
  const value = derElement(tags.utf8String, Buffer.from(commonName));
  return derElement(tags.sequence, derElement(tags.set, derElement(tags.sequence, commonNameOid, value)));
}

/** Returns the extension for names, which must be critical if there is no subject (RFC 5280 §4.2.1.6). */
function alternativeNames(names: readonly string[], isCritical: boolean): Buffer {
  const value = derElement(tags.octetString, derElement(tags.sequence, ...names.map(generalName)));
  return derElement(tags.sequence, subjectAlternativeNameOid, ...(isCritical ? [critical] : []), value);
}

function generalName(name: string): Buffer {
  if (isIP(name)) return derElement(contextPrimitive(7), addressOctets(name));
  return derElement(contextPrimitive(name.startsWith("spiffe://") ? 6 : 2), ia5String(name));
}

function ia5String(text: string): Buffer {
  if (!/^[\x00-\x7f]*$/.test(text)) throw new TypeError(`name ${JSON.stringify(text)} has characters outside of ASCII`);
  return Buffer.from(text, "latin1");
}

/** Returns a serial number of 128 random bits (RFC 5280 §4.1.2.2 allows up to 20 octets). */
export function randomSerialNumber(): Buffer {
  return randomBytes(16);
}
