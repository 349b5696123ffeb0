import { createPublicKey, type KeyObject } from "node:crypto";
import { CaError } from "../errors.js";
import { generateKey, type KeyType, parsePrivateKey, privateKeyPem, signingKey } from "../keys.js";
import type { StoredRoot } from "../roots/root-store.js";
import {
  BasicConstraintsExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Name,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from "../x509.js";
import { randomSerialNumber } from "./leaf-template.js";

export interface SelfSignedRootOptions {
  /** The subject's organization; Istio uses the trust domain. */
  readonly organization: string;
  /** Milliseconds. Default: 3650 days, as Istio's CITADEL_SELF_SIGNED_CA_CERT_TTL. */
  readonly lifetime?: number;
  /** Default: RSA with 2048 bits, as Istio's CITADEL_SELF_SIGNED_CA_RSA_KEY_SIZE. */
  readonly key?: KeyType;
}

const tenYearsMs = 3650 * 24 * 3600 * 1000;

/** Creates a key and a root certificate for it. @param now milliseconds since the epoch @throws CaError `signing` */
export async function createSelfSignedRoot(options: SelfSignedRootOptions, now: number): Promise<StoredRoot> {
  const key = await generateKey(options.key ?? { type: "rsa", bits: 2048 });
  const subject = new Name([{ O: [{ utf8String: options.organization }] }]);
  return {
    certificate: await selfSign(key, subject, now, options.lifetime ?? tenYearsMs),
    privateKey: privateKeyPem(key),
  };
}

/**
 * Creates a new certificate for the same key and subject. Leaves of the old certificate verify against the new one and
 * vice versa, so no order of distribution breaks a connection.
 *
 * @param lifetime milliseconds; default as for a new root
 * @throws CaError `malformed` or `signing`
 */
export async function renewSelfSignedRoot(root: StoredRoot, now: number, lifetime = tenYearsMs): Promise<StoredRoot> {
  const key = parsePrivateKey(root.privateKey, "stored root: private key");
  let subject: Name;
  try {
    subject = new X509Certificate(root.certificate).subjectName;
  } catch (error) {
    throw CaError.from(error, "malformed", "stored root: certificate");
  }
  return { certificate: await selfSign(key, subject, now, lifetime), privateKey: root.privateKey };
}

async function selfSign(key: KeyObject, subject: Name, now: number, lifetime: number): Promise<string> {
  try {
    const signer = await signingKey(key);
    const publicKey = Uint8Array.from(createPublicKey(key).export({ type: "spki", format: "der" }));
    const certificate = await X509CertificateGenerator.create({
      serialNumber: randomSerialNumber().toString("hex"),
      subject,
      issuer: subject,
      notBefore: new Date(now),
      notAfter: new Date(now + lifetime),
      publicKey,
      signingKey: signer.key,
      signingAlgorithm: signer.algorithm,
      extensions: [
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true),
        new BasicConstraintsExtension(true, undefined, true),
        await SubjectKeyIdentifierExtension.create(publicKey),
      ],
    });
    return `${certificate.toString("pem")}\n`;
  } catch (error) {
    throw CaError.from(error, "signing", "the root certificate could not be created");
  }
}
