import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import { AsnConvert } from "@peculiar/asn1-schema";
import { GeneralName, GeneralSubtree, GeneralSubtrees, NameConstraints } from "@peculiar/asn1-x509";
import { signingKey } from "../keys.js";
import { encodePem } from "../pem.js";
import {
  BasicConstraintsExtension,
  Extension,
  ExtendedKeyUsageExtension,
  type JsonGeneralName,
  KeyUsagesExtension,
  KeyUsageFlags,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
  X509CrlGenerator,
  X509CrlReason,
} from "../x509.js";

/** A certificate with its key. */
export interface Minted {
  readonly certificate: X509Certificate;
  readonly key: KeyObject;
  readonly pem: string;
  readonly keyPem: string;
}

export interface MintOptions {
  /** Default: none if there are names, otherwise a common name. */
  readonly subject?: string;
  /** Absent: self-signed. */
  readonly issuer?: Minted;
  readonly names?: readonly JsonGeneralName[];
  readonly ca?: boolean;
  readonly pathLength?: number;
  readonly keyUsages?: number;
  readonly extendedKeyUsages?: readonly string[];
  /** Milliseconds from now. */
  readonly notBefore?: number;
  /** Milliseconds from now. */
  readonly notAfter?: number;
  readonly hash?: "SHA-1" | "SHA-256";
  readonly key?: KeyObject;
  /** Certifies this key instead, whose private key is unknown. The key of the result is not that of the certificate. */
  readonly publicKey?: KeyObject;
  readonly extensions?: readonly Extension[];
}

const hour = 3600_000;
let serial = 1;

export const uri = (value: string): JsonGeneralName => ({ type: "url", value });

/** Creates any certificate, including those that a CA should not issue. */
export async function mint(options: MintOptions): Promise<Minted> {
  const { issuer, ca = false, names = [] } = options;
  const key = options.key ?? generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  const subject = options.subject ?? (names.length > 0 && !ca ? "" : `CN=${ca ? "ca" : "leaf"} ${serial}`);
  const signer = await signingKey(issuer?.key ?? key);
  const algorithm = options.hash === undefined ? signer.algorithm : { ...signer.algorithm, hash: options.hash };
  const certificate = await X509CertificateGenerator.create({
    serialNumber: (serial++).toString(16).padStart(4, "0"),
    subject,
    issuer: issuer === undefined ? subject : issuer.certificate.subject.replaceAll("\n", ", "),
    notBefore: new Date(Date.now() + (options.notBefore ?? -hour)),
    notAfter: new Date(Date.now() + (options.notAfter ?? hour)),
    publicKey: Uint8Array.from((options.publicKey ?? createPublicKey(key)).export({ type: "spki", format: "der" })),
    signingKey: signer.key,
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(ca, options.pathLength, true),
      new KeyUsagesExtension(
        options.keyUsages ?? (ca ? KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign : KeyUsageFlags.digitalSignature),
        true,
      ),
      ...(options.extendedKeyUsages ? [new ExtendedKeyUsageExtension([...options.extendedKeyUsages])] : []),
      // Java rejects certificates without a subject whose names are not critical (RFC 5280 §4.2.1.6).
      ...(names.length > 0 ? [new SubjectAlternativeNameExtension([...names], subject === "")] : []),
      ...(options.extensions ?? []),
    ],
  });
  const pem = `${certificate.toString("pem")}\n`;
  const keyPem = key.export({ type: "pkcs8", format: "pem" }).toString();
  return { certificate: new X509Certificate(pem), key: createPrivateKey(keyPem), pem, keyPem };
}

export interface MintListOptions {
  /** Serial numbers of the revoked certificates in hexadecimal. */
  readonly revoked?: readonly string[];
  /** Milliseconds from now. */
  readonly thisUpdate?: number;
  /** Milliseconds from now. */
  readonly nextUpdate?: number;
  readonly extensions?: readonly Extension[];
}

/** Creates a revocation list in PEM. */
export async function mintRevocationList(issuer: Minted, options: MintListOptions = {}): Promise<string> {
  const { revoked = [], thisUpdate = -hour, nextUpdate = hour, extensions = [] } = options;
  const signer = await signingKey(issuer.key);
  const list = await X509CrlGenerator.create({
    issuer: issuer.certificate.subject.replaceAll("\n", ", "),
    thisUpdate: new Date(Date.now() + thisUpdate),
    nextUpdate: new Date(Date.now() + nextUpdate),
    // Without a reason, the entry would get an empty list of extensions, which BoringSSL rejects (RFC 5280 §4.1).
    entries: revoked.map((serialNumber) => ({
      serialNumber,
      revocationDate: new Date(Date.now() - hour),
      reason: X509CrlReason.keyCompromise,
    })),
    extensions: [...extensions],
    signingKey: signer.key,
    signingAlgorithm: signer.algorithm,
  });
  return encodePem("X509 CRL", Buffer.from(list.rawData));
}

/** A critical extension that limits a CA to URIs with these hosts. */
export function uriNameConstraints(...hosts: readonly string[]): Extension {
  const subtrees = hosts.map(
    (host) => new GeneralSubtree({ base: new GeneralName({ uniformResourceIdentifier: host }) }),
  );
  const constraints = new NameConstraints({ permittedSubtrees: new GeneralSubtrees(subtrees) });
  return new Extension("2.5.29.30", true, AsnConvert.serialize(constraints));
}
