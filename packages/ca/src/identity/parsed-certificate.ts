import type { X509Certificate } from "node:crypto";
import { AsnConvert } from "@peculiar/asn1-schema";
import { NameConstraints } from "@peculiar/asn1-x509";
import { CaError } from "../errors.js";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509Certificate as Asn1Certificate,
} from "../x509.js";

/** The fields of a certificate that decide what it may be used for. */
export interface ParsedCertificate {
  readonly certificate: X509Certificate;
  /** Milliseconds since the epoch. */
  readonly notBefore: number;
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
  readonly isCa: boolean;
  /** Number of intermediates that may follow; absent: any. */
  readonly pathLength?: number;
  /** Flags of `KeyUsageFlags`; absent: any usage. */
  readonly keyUsages?: number;
  /** Object identifiers; absent: any usage. */
  readonly extendedKeyUsages?: readonly string[];
  /** URIs among the subject alternative names, in order. */
  readonly uris: readonly string[];
  /** Hosts of URIs that a CA may or may not certify, RFC 5280 §4.2.1.10; a leading dot stands for all subdomains. */
  readonly uriConstraints: { readonly permitted: readonly string[]; readonly excluded: readonly string[] };
}

const nameConstraintsId = "2.5.29.30";
const weakHashes: ReadonlySet<string> = new Set(["MD5", "SHA-1"]);

/**
 * Extensions that are understood here, or that TLS enforces and that do not concern URIs. A certificate with another
 * critical one is not accepted (RFC 5280 §4.2).
 */
const knownExtensions: ReadonlySet<string> = new Set([
  "2.5.29.15",
  "2.5.29.17",
  "2.5.29.19",
  "2.5.29.32",
  "2.5.29.37",
  nameConstraintsId,
]);

const parsed = new WeakMap<X509Certificate, ParsedCertificate>();

/**
 * Parses a certificate. The result for one object is kept as long as the object.
 *
 * @throws CaError `untrusted` if it cannot be read, repeats an extension, has an unknown critical one, or has a weak
 *   key or signature
 */
export function parseCertificate(certificate: X509Certificate): ParsedCertificate {
  let fields = parsed.get(certificate);
  if (fields === undefined) {
    try {
      fields = parse(certificate);
    } catch (error) {
      throw CaError.from(error, "untrusted", "certificate cannot be read");
    }
    parsed.set(certificate, fields);
  }
  return fields;
}

function parse(certificate: X509Certificate): ParsedCertificate {
  const asn1 = new Asn1Certificate(Uint8Array.from(certificate.raw));
  checkExtensions(asn1);
  checkStrength(certificate, asn1);
  const basic = asn1.getExtension(BasicConstraintsExtension);
  const names = asn1.getExtension(SubjectAlternativeNameExtension)?.names.items ?? [];
  const keyUsages = asn1.getExtension(KeyUsagesExtension)?.usages;
  const extendedKeyUsages = asn1.getExtension(ExtendedKeyUsageExtension)?.usages.map(String);
  return {
    certificate,
    notBefore: asn1.notBefore.getTime(),
    notAfter: asn1.notAfter.getTime(),
    isCa: basic?.ca === true,
    ...(basic?.pathLength !== undefined && { pathLength: basic.pathLength }),
    ...(keyUsages !== undefined && { keyUsages }),
    ...(extendedKeyUsages !== undefined && { extendedKeyUsages }),
    uris: names.filter(({ type }) => type === "url").map(({ value }) => value),
    uriConstraints: uriConstraints(asn1),
  };
}

function checkExtensions({ extensions }: Asn1Certificate): void {
  const seen = new Set<string>();
  for (const { type, critical } of extensions) {
    if (seen.has(type)) throw new CaError("untrusted", `certificate repeats the extension ${type}`);
    seen.add(type);
    if (critical && !knownExtensions.has(type))
      throw new CaError("untrusted", `certificate has the unknown critical extension ${type}`);
  }
}

/** RSA of at least 2048 bits, the NIST curves or Ed25519, signed with SHA-256 or better (NIST SP 800-57). */
function checkStrength({ publicKey }: X509Certificate, { signatureAlgorithm }: Asn1Certificate): void {
  const { asymmetricKeyType = "unknown", asymmetricKeyDetails: { modulusLength = 0, namedCurve = "" } = {} } =
    publicKey;
  const isStrong =
    asymmetricKeyType === "rsa"
      ? modulusLength >= 2048
      : asymmetricKeyType === "ec"
        ? ["prime256v1", "secp384r1", "secp521r1"].includes(namedCurve)
        : asymmetricKeyType === "ed25519";
  if (!isStrong)
    throw new CaError(
      "untrusted",
      `certificate has a weak key: ${asymmetricKeyType} ${modulusLength === 0 ? namedCurve : `of ${modulusLength} bits`}`,
    );
  const hash =
    "hash" in signatureAlgorithm ? (signatureAlgorithm.hash as { name?: string } | undefined)?.name : undefined;
  if (hash !== undefined && weakHashes.has(hash))
    throw new CaError("untrusted", `certificate is signed with the weak hash ${hash}`);
}

function uriConstraints(asn1: Asn1Certificate): ParsedCertificate["uriConstraints"] {
  const extension = asn1.getExtension(nameConstraintsId);
  if (extension === null) return { permitted: [], excluded: [] };
  const { permittedSubtrees = [], excludedSubtrees = [] } = AsnConvert.parse(extension.value, NameConstraints);
  const hosts = (subtrees: Iterable<NonNullable<NameConstraints["permittedSubtrees"]>[number]>): string[] =>
    [...subtrees].flatMap(({ base }) => base.uniformResourceIdentifier?.toLowerCase() ?? []);
  return { permitted: hosts(permittedSubtrees), excluded: hosts(excludedSubtrees) };
}
