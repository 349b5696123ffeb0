import { createPrivateKey, type KeyObject, webcrypto } from "node:crypto";
import { AgentError } from "../errors.js";
import type { Options } from "../options/table.js";
import { Pkcs10CertificateRequestGenerator, SubjectAlternativeNameExtension } from "../x509.js";

/** A new key, and the request (PKCS#10, RFC 2986) to certify it. */
export interface KeyAndCsr {
  /** PEM: PKCS#1 or SEC1, or PKCS#8 where so configured. */
  readonly key: string;
  /** PEM. */
  readonly request: string;
}

export type KeySettings = Pick<Options, "rsaKeySize" | "eccAlgorithm" | "eccCurve" | "pkcs8Key">;

/**
 * Makes a key and a request in the name of a SPIFFE identity. The authority decides by the caller's token and not by
 * that name; it is there for authorities that compare the two.
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
      request: `${request.toString("pem")}\n`,
    };
  } catch (error) {
    throw AgentError.from(error, "authority", "a key and signing request could not be made");
  }
}

function keyPem(key: KeyObject, pkcs8: boolean): string {
  if (pkcs8) return key.export({ type: "pkcs8", format: "pem" }).toString();
  return key.export({ type: key.asymmetricKeyType === "ec" ? "sec1" : "pkcs1", format: "pem" }).toString();
}
