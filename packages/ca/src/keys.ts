import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject, webcrypto } from "node:crypto";
import { promisify } from "node:util";
import { CaError } from "./errors.js";

/** The types of keys that the CA generates. */
export type KeyType =
  | { readonly type: "rsa"; readonly bits: number }
  | { readonly type: "ecdsa"; readonly curve: "P-256" | "P-384" };

/** Accepted RSA key sizes. The minimum follows NIST SP 800-57. The maximum bounds the cost of verification. */
export const rsaBits = { min: 2048, max: 8192 } as const;

const curves: Readonly<Record<string, "P-256" | "P-384">> = { prime256v1: "P-256", secp384r1: "P-384" };

const generate = promisify(generateKeyPair);

/** Generates a private key. @throws CaError `signing` for an RSA size outside 2048…8192 */
export async function generateKey(type: KeyType): Promise<KeyObject> {
  if (type.type === "rsa") {
    if (type.bits < rsaBits.min || type.bits > rsaBits.max) {
      throw new CaError("signing", `RSA key of ${type.bits} bits: expected ${rsaBits.min} to ${rsaBits.max}`);
    }
    return (await generate("rsa", { modulusLength: type.bits })).privateKey;
  }
  return (await generate("ec", { namedCurve: type.curve })).privateKey;
}

/**
 * Returns the type of a key.
 *
 * @throws CaError with `code` for keys other than RSA of 2048 to 8192 bits, P-256 and P-384
 */
export function keyTypeOf(key: KeyObject, code: "csr" | "malformed"): KeyType {
  const details = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType === "rsa") {
    const bits = details.modulusLength ?? 0;
    if (bits < rsaBits.min || bits > rsaBits.max) {
      throw new CaError(code, `RSA key of ${bits} bits: expected ${rsaBits.min} to ${rsaBits.max}`);
    }
    return { type: "rsa", bits };
  }
  if (key.asymmetricKeyType === "ec") {
    const curve = curves[details.namedCurve ?? ""];
    if (!curve) throw new CaError(code, `elliptic curve ${details.namedCurve ?? "unknown"}: expected P-256 or P-384`);
    return { type: "ecdsa", curve };
  }
  throw new CaError(code, `key of type ${key.asymmetricKeyType ?? "unknown"}: expected RSA or ECDSA`);
}

/**
 * Parses an unencrypted private key in PEM: PKCS#8, PKCS#1 or SEC1.
 *
 * @param what names the text in messages, such as a file
 * @throws CaError `malformed`
 */
export function parsePrivateKey(pem: string, what: string): KeyObject {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch (error) {
    throw CaError.from(error, "malformed", `${what}: not an unencrypted private key in PEM`);
  }
  keyTypeOf(createPublicKey(key), "malformed");
  return key;
}

/** Encodes a private key as PKCS#8 PEM. */
export function privateKeyPem(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

/** Imports a key into WebCrypto for signing certificates with SHA-256, or SHA-384 for P-384. */
export async function signingKey(
  key: KeyObject,
): Promise<{ key: webcrypto.CryptoKey; algorithm: webcrypto.EcdsaParams | webcrypto.RsaHashedImportParams }> {
  const kind = keyTypeOf(createPublicKey(key), "malformed");
  const der = key.export({ type: "pkcs8", format: "der" });
  if (kind.type === "rsa") {
    const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
    return { key: await webcrypto.subtle.importKey("pkcs8", der, algorithm, false, ["sign"]), algorithm };
  }
  const hash = kind.curve === "P-384" ? "SHA-384" : "SHA-256";
  const ecdsaKey = await webcrypto.subtle.importKey("pkcs8", der, { name: "ECDSA", namedCurve: kind.curve }, false, [
    "sign",
  ]);
  return { key: ecdsaKey, algorithm: { name: "ECDSA", hash } };
}
