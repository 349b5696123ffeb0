import { constants, createHmac, createPublicKey, type JsonWebKey, timingSafeEqual, verify } from "node:crypto";
import { jsonWebKeyFault } from "@istiod/config-schema";
import type { ParsedToken } from "./parse-token.js";

/** A key of a JSON Web Key Set; members of other types than strings count as absent, as in Envoy. */
type Key = Readonly<Record<string, unknown>>;

/** Bytes of a coordinate by curve. */
const curves: Readonly<Record<string, number>> = { "P-256": 32, "P-384": 48, "P-521": 66 };
const curveOfAlgorithm: Readonly<Record<string, string>> = { ES256: "P-256", ES384: "P-384", ES512: "P-521" };
const ed25519SignatureBytes = 64;

/**
 * Reports whether a key of a set verifies a token's signature, by Envoy's rules. They are about the type of the key:
 * `use` and `key_ops` do not count, RSA keys have no minimum size, and a key without `alg` verifies tokens whose header
 * names an algorithm of another type of keys.
 */
export function isSigned(token: ParsedToken, jwks: string): boolean {
  const { keys = [] } = JSON.parse(jwks) as { readonly keys?: readonly Key[] };
  for (const key of keys) {
    const [keyId, algorithm] = [text(key, "kid"), text(key, "alg")];
    if (token.keyId !== "" && keyId !== "" && keyId !== token.keyId) continue;
    if (algorithm !== "" && algorithm !== token.algorithm) continue;
    if (jsonWebKeyFault(key) !== undefined) continue;
    // Envoy tries no other keys then.
    if (key["kty"] === "OKP" && token.signature.length !== ed25519SignatureBytes) return false;
    if (isSignedBy(token, key)) return true;
  }
  return false;
}

function isSignedBy(token: ParsedToken, key: Key): boolean {
  try {
    switch (key["kty"]) {
      case "RSA":
        return isSignedByRsa(token, key);
      case "EC":
        return isSignedByEc(token, key);
      case "oct":
        return isSignedBySecret(token, key);
      case "OKP":
        return verify(null, Buffer.from(token.content), publicKey(key, ["kty", "crv", "x"]), token.signature);
      default:
        return false;
    }
  } catch {
    // Node.js cannot use the key, so another one has to verify the token.
    return false;
  }
}

function isSignedByRsa({ algorithm, content, signature }: ParsedToken, key: Key): boolean {
  const isPss = algorithm.startsWith("PS");
  if (!isPss && !algorithm.startsWith("RS")) return false;
  const padding = isPss
    ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
    : { padding: constants.RSA_PKCS1_PADDING };
  const options = { key: publicKey(key, ["kty", "n", "e"]), ...padding };
  return verify(digestOf(algorithm, ["RS", "PS"]), Buffer.from(content), options, signature);
}

function isSignedByEc({ algorithm, content, signature }: ParsedToken, key: Key): boolean {
  const crv = text(key, "crv") || (curveOfAlgorithm[text(key, "alg")] ?? "P-256");
  const bytes = curves[crv] ?? 0;
  const half = Math.floor(signature.length / 2);
  const numbers = [signature.subarray(0, half), signature.subarray(half, 2 * half)].map((part) => padded(part, bytes));
  const options = { key: publicKey({ ...key, crv }, ["kty", "crv", "x", "y"]), dsaEncoding: "ieee-p1363" as const };
  return verify(digestOf(algorithm, ["ES"]), Buffer.from(content), options, Buffer.concat(numbers));
}

function isSignedBySecret({ algorithm, content, signature }: ParsedToken, key: Key): boolean {
  const secret = Buffer.from(text(key, "k"), "base64url");
  const expected = createHmac(digestOf(algorithm, ["HS"]), secret)
    .update(content)
    .digest();
  return expected.length === signature.length && timingSafeEqual(expected, signature);
}

/** Returns the digest of an algorithm; SHA-256 for algorithms of other families. */
function digestOf(algorithm: string, families: readonly string[]): string {
  const size = families.some((family) => algorithm.startsWith(family)) ? algorithm.slice(2) : "256";
  return `sha${size}`;
}

/** Returns the public key with these members only: others, such as `key_ops`, do not count. */
function publicKey(key: Key, members: readonly string[]) {
  const jwk = Object.fromEntries(members.map((name) => [name, text(key, name)]));
  return createPublicKey({ key: jwk as JsonWebKey, format: "jwk" });
}

/** Returns a big-endian number with so many bytes. */
function padded(number: Buffer, bytes: number): Buffer {
  const start = number.findIndex((byte) => byte !== 0);
  const significant = start < 0 ? Buffer.alloc(0) : number.subarray(start);
  return Buffer.concat([Buffer.alloc(Math.max(0, bytes - significant.length)), significant]);
}

function text(key: Key, name: string): string {
  const value = key[name];
  return typeof value === "string" ? value : "";
}
