import {
  bitsOf,
  readAlgorithm,
  readAny,
  readBitString,
  readInteger,
  readObjectIdentifier,
  readTime,
  readUnsigned,
} from "./asn1-values.js";
import {
  derTags,
  type DerReader,
  explicitTag,
  ifWellFormed,
  implicitTag,
  malformed,
  readDer,
  readWhole,
} from "./der.js";
import { type Extension, extensionValue, readExtensions } from "./extensions.js";
import { type NamePart, readGeneralName, readName } from "./names.js";
import { type PublicKey, readPublicKey } from "./public-key.js";

/*
 * Certificates as BoringSSL reads them (X509_parse_with_algorithms and SSLCredential::SetLeafCert). Signatures, dates
 * and what extensions mean are not checked: Envoy does not check them either when it loads a certificate.
 */

/** A certificate that Envoy can read. */
export interface Certificate {
  readonly subject: readonly NamePart[];
  /** The SubjectPublicKeyInfo. */
  readonly keyInfo: Buffer;
  readonly extensions: readonly Extension[];
}

const versions = { v1: 0n, v2: 1n, v3: 2n };
const keyUsage = "551d0f";
const commonName = "550403";
const subjectAlternativeName = "551d11";
/** Choices of a GeneralName that identify a server for Envoy: DNS name, URI and IP address. */
const serverNames: readonly number[] = [2, 6, 7];

/** Returns a certificate; undefined if it is malformed. Bytes after it are ignored. */
export function parseCertificate(der: Uint8Array): Certificate | undefined {
  return readDer(der, readCertificate);
}

/** Returns a leaf certificate, which may have OpenSSL's trust settings after it. */
export function parseTrustedCertificate(der: Uint8Array): Certificate | undefined {
  return readDer(der, (reader) => {
    const certificate = readCertificate(reader);
    if (!reader.isEmpty) readTrust(reader);
    return certificate;
  });
}

/** Reads `X509_CERT_AUX`: uses that are trusted, rejected ones, a name, and a key identifier. */
function readTrust(reader: DerReader): void {
  reader.within(derTags.sequence, (fields) => {
    for (const tag of [derTags.sequence, explicitTag(0)])
      fields.optional(tag, (field) => field.list(tag, (use) => readObjectIdentifier(use)));
    if (fields.tag === derTags.utf8String) readAny(fields);
    fields.optional(derTags.octetString, (field) => field.take(derTags.octetString));
  });
}

function readCertificate(reader: DerReader): Certificate {
  return reader.within(derTags.sequence, (fields) => {
    const content = fields.within(derTags.sequence, readContent);
    readAlgorithm(fields);
    bitsOf(fields.takeWithLongLength(derTags.bitString));
    return content;
  });
}

function readContent(fields: DerReader): Certificate {
  const version = fields.optional(explicitTag(0), (field) => field.within(explicitTag(0), readUnsigned)) ?? versions.v1;
  if (version > versions.v3) malformed();
  readInteger(fields);
  readAlgorithm(fields);
  readName(fields);
  fields.within(derTags.sequence, (validity) => [readTime(validity), readTime(validity)]);
  const subject = readName(fields);
  const keyInfo = fields.element(derTags.sequence);
  readWhole(keyInfo, readKeyInfo);
  if (version >= versions.v2)
    for (const tag of [implicitTag(1), implicitTag(2)]) fields.optional(tag, (field) => readBitString(field, tag));
  const extensions =
    version < versions.v3
      ? undefined
      : fields.optional(explicitTag(3), (field) => field.within(explicitTag(3), readExtensions));
  return { subject, keyInfo, extensions: extensions ?? [] };
}

function readKeyInfo(reader: DerReader): void {
  reader.within(derTags.sequence, (fields) => {
    readAlgorithm(fields);
    readBitString(fields);
  });
}

/** Returns the public key of a certificate; undefined if it is malformed or of a kind that is unknown here. */
export function publicKeyOf({ keyInfo }: Certificate): PublicKey | undefined {
  return readDer(keyInfo, readPublicKey);
}

/**
 * Reports whether a certificate may be used for signatures: it has no KeyUsage or one that allows them. Envoy requires
 * that of an ECDSA certificate. False as well if the extension is malformed.
 */
export function allowsSignatures({ extensions }: Certificate): boolean {
  const usage = extensions.find(({ type }) => type === keyUsage);
  if (usage === undefined) return true;
  const bits = ifWellFormed(() => readWhole(usage.value, readBitString));
  return bits !== undefined && ((bits[0] ?? 0) & 0x80) !== 0;
}

/** Reports whether Envoy takes a certificate for a server, which needs a common name or a SAN, and no empty one. */
export function namesServer({ subject, extensions }: Certificate): boolean {
  const name = subject.find(({ type }) => type === commonName);
  if (name !== undefined) return name.value.length > 0;
  const names = ifWellFormed(() => extensionValue(extensions, subjectAlternativeName, readNames)) ?? [];
  return names.some(({ choice }) => serverNames.includes(choice));
}

const readNames = (reader: DerReader): readonly { choice: number }[] => reader.list(derTags.sequence, readGeneralName);

const tlsFeature = "2b06010505070118";
/** A list of one TLS extension: `status_request`. */
const statusRequest = Buffer.of(0x30, 3, 2, 1, 5);

/** Reports whether a certificate requires its server to staple an OCSP response (RFC 7633). */
export function mustStaple({ extensions }: Certificate): boolean {
  return extensions.find(({ type }) => type === tlsFeature)?.value.equals(statusRequest) === true;
}
