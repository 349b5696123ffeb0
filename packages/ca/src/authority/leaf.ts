import { randomBytes } from "node:crypto";
import { CaError } from "../errors.js";
import { signingKey } from "../keys.js";
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Name,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from "../x509.js";
import type { SigningBundle } from "./signing-bundle.js";
import { subjectAlternativeNames } from "./subject-alternative-names.js";

/** Contents of a leaf certificate. */
export interface Leaf {
  readonly publicKeyDer: Uint8Array;
  /** Subject alternative names; at least one. */
  readonly names: readonly string[];
  /** Repeats the first name as the common name if it fits, for old clients that ignore other names. */
  readonly commonName: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Milliseconds from now. */
  readonly lifetime: number;
}

/** A leaf is valid from two minutes before it is issued, because clocks differ between machines. */
const clockSkewMs = 2 * 60 * 1000;

/** Upper bound of the X.520 common name. */
const maxCommonNameLength = 64;

/**
 * Signs a leaf for client and server authentication. It never outlives the certificates of its issuers.
 *
 * @returns PEM with a newline at its end
 * @throws CaError `not-ready` if an issuer has expired, `signing` for any other failure
 */
export async function signLeaf(leaf: Leaf, signer: SigningBundle): Promise<{ pem: string; notAfter: number }> {
  if (signer.notAfter <= leaf.now) {
    throw new CaError("not-ready", `the signing certificate expired at ${new Date(signer.notAfter).toISOString()}`);
  }
  const [first] = leaf.names;
  if (first === undefined) throw new CaError("signing", "a certificate needs at least one name");
  const notAfter = Math.min(leaf.now + leaf.lifetime, signer.notAfter);
  const commonName = leaf.commonName && first.length <= maxCommonNameLength ? first : undefined;
  try {
    const issuer = new X509Certificate(signer.certificate.raw);
    const { key, algorithm } = await signingKey(signer.privateKey);
    const keyId = issuer.getExtension(SubjectKeyIdentifierExtension)?.keyId;
    const certificate = await X509CertificateGenerator.create({
      serialNumber: serialNumber(),
      issuer: issuer.subjectName,
      ...(commonName === undefined ? {} : { subject: new Name([{ CN: [{ utf8String: commonName }] }]) }),
      notBefore: new Date(leaf.now - clockSkewMs),
      notAfter: new Date(notAfter),
      publicKey: Uint8Array.from(leaf.publicKeyDer),
      signingKey: key,
      signingAlgorithm: algorithm,
      extensions: [
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature | KeyUsageFlags.keyEncipherment, true),
        new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
        new BasicConstraintsExtension(false, undefined, true),
        ...(keyId === undefined ? [] : [new AuthorityKeyIdentifierExtension(keyId)]),
        subjectAlternativeNames(leaf.names, commonName === undefined),
      ],
    });
    return { pem: `${certificate.toString("pem")}\n`, notAfter: certificate.notAfter.getTime() };
  } catch (error) {
    throw CaError.from(error, "signing", "the certificate could not be created");
  }
}

/** Returns a serial number of 128 random bits in hexadecimal (RFC 5280 §4.1.2.2 allows up to 20 octets). */
export function serialNumber(): string {
  return randomBytes(16).toString("hex");
}
