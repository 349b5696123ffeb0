import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject, webcrypto } from "node:crypto";
import { promisify } from "node:util";
import { CaError } from "./errors.js";

/** The kinds of key that the CA makes for itself. */
export type KeyKind =
  { readonly type: "rsa"; readonly bits: number } | { readonly type: "ecdsa"; readonly curve: "P-256" | "P-384" };

/**
 * RSA keys below 2048 bits are refused (NIST SP 800-57), above 8192 too: verifying one costs too much to be offered to
 * callers.
 */
const RSA_BITS = { least: 2048, most: 8192 } as const;

const CURVES: Readonly<Record<string, "P-256" | "P-384">> = { prime256v1: "P-256", secp384r1: "P-384" };

const generate = promisify(generateKeyPair);

/** Makes a private key. @throws CaError `signing` for an RSA size outside 2048…8192 */
export async function generateKey(kind: KeyKind): Promise<KeyObject> {
  if (kind.type === "rsa") {
    if (kind.bits < RSA_BITS.least || kind.bits > RSA_BITS.most) {
      throw new CaError("signing", `RSA key of ${kind.bits} bits: expected ${RSA_BITS.least} to ${RSA_BITS.most}`);
    }
    return (await generate("rsa", { modulusLength: kind.bits })).privateKey;
  }
  return (await generate("ec", { namedCurve: kind.curve })).privateKey;
}

/**
 * Says what kind of key this is.
 *
 * @throws CaError with `code` for anything but RSA of 2048 to 8192 bits, P-256 and P-384
 */
export function kindOf(key: KeyObject, code: "csr" | "malformed"): KeyKind {
  const details = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType === "rsa") {
    const bits = details.modulusLength ?? 0;
    if (bits < RSA_BITS.least || bits > RSA_BITS.most) {
      throw new CaError(code, `RSA key of ${bits} bits: expected ${RSA_BITS.least} to ${RSA_BITS.most}`);
    }
    return { type: "rsa", bits };
  }
  if (key.asymmetricKeyType === "ec") {
    const curve = CURVES[details.namedCurve ?? ""];
    if (!curve) throw new CaError(code, `elliptic curve ${details.namedCurve ?? "unknown"}: expected P-256 or P-384`);
    return { type: "ecdsa", curve };
  }
  throw new CaError(code, `key of type ${key.asymmetricKeyType ?? "unknown"}: expected RSA or ECDSA`);
}

/**
 * Reads a private key in PEM: PKCS#8, PKCS#1 or SEC1, not encrypted.
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
  kindOf(createPublicKey(key), "malformed");
  return key;
}

/** The private key in PKCS#8 PEM. */
export function privateKeyPem(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

/** The same key for WebCrypto, fit to sign certificates: SHA-256, or SHA-384 with P-384. */
export async function signingKey(
  key: KeyObject,
): Promise<{ key: webcrypto.CryptoKey; algorithm: webcrypto.EcdsaParams | webcrypto.RsaHashedImportParams }> {
  const kind = kindOf(createPublicKey(key), "malformed");
  const der = key.export({ type: "pkcs8", format: "der" });
  if (kind.type === "rsa") {
    const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
    return { key: await webcrypto.subtle.importKey("pkcs8", der, algorithm, false, ["sign"]), algorithm };
  }
  const hash = kind.curve === "P-384" ? "SHA-384" : "SHA-256";
  const key_ = await webcrypto.subtle.importKey("pkcs8", der, { name: "ECDSA", namedCurve: kind.curve }, false, [
    "sign",
  ]);
  return { key: key_, algorithm: { name: "ECDSA", hash } };
}
