import { createPrivateKey, type KeyObject, webcrypto } from "node:crypto";
import { AgentError } from "../errors.js";
import type { Options } from "../options/table.js";
import { Pkcs10CertificateRequestGenerator, SubjectAlternativeNameExtension } from "../x509.js";

/** A private key and a certificate signing request (PKCS#10, RFC 2986) for it. */
export interface KeyAndCsr {
  /** PEM: PKCS#1 or SEC1, or PKCS#8 if PKCS8_KEY or DISABLE_ENVOY is set. */
  readonly key: string;
  /** PEM. */
  readonly csr: string;
}

export type KeySettings = Pick<Options, "rsaKeySize" | "eccAlgorithm" | "eccCurve" | "pkcs8Key">;

/**
 * Generates a key and a CSR for a SPIFFE ID. istiod issues for the caller's authenticated identity and ignores the ID
 * in the CSR; other authorities compare the two.
 *
 * @throws AgentError `authority`
 */
export async function generateCsr(identity: string, settings: KeySettings): Promise<KeyAndCsr> {
  const ecdsa = settings.eccAlgorithm === "ECDSA";
  const curve = settings.eccCurve === "P384" ? "P-384" : "P-256";
  const algorithm = ecdsa
    ? { name: "ECDSA", namedCurve: curve, hash: curve === "P-384" ? "SHA-384" : "SHA-256" }
    : {
        name: "RSASSA-PKCS1-v1_5",
        modulusLength: settings.rsaKeySize,
        publicExponent: new Uint8Array([1, 0, 1]),
        hash: "SHA-256",
      };
  try {
    const keys = (await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"])) as webcrypto.CryptoKeyPair;
    const request = await Pkcs10CertificateRequestGenerator.create({
      keys,
      signingAlgorithm: algorithm,
      extensions: [new SubjectAlternativeNameExtension([{ type: "url", value: identity }], true)],
    });
    const der = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey));
    return {
      key: keyPem(createPrivateKey({ key: der, format: "der", type: "pkcs8" }), settings.pkcs8Key),
      csr: `${request.toString("pem")}\n`,
    };
  } catch (error) {
    throw AgentError.from(error, "authority", "cannot generate a key and CSR");
  }
}

function keyPem(key: KeyObject, pkcs8: boolean): string {
  if (pkcs8) return key.export({ type: "pkcs8", format: "pem" }).toString();
  return key.export({ type: key.asymmetricKeyType === "ec" ? "sec1" : "pkcs1", format: "pem" }).toString();
}
