import { createPublicKey, type KeyObject } from "node:crypto";
import { readFile } from "node:fs/promises";
import { reasonOf } from "@istiod/runtime";
import { exportJWK, type JSONWebKeySet, type JWK } from "jose";
import { CaError } from "../errors.js";
import { readText } from "../files/read-text.js";

/** The public keys of an issuer. */
export type TokenKeySet = JSONWebKeySet;

/** A public key that verifies tokens. */
export interface TokenKey {
  readonly key: KeyObject;
  /** Absent for keys without an ID, such as those of PEM files. */
  readonly kid?: string;
  /** The only algorithm that the key is for; absent: any of its type. */
  readonly algorithm?: string;
  /** The algorithms of its type. */
  readonly algorithms: readonly string[];
}

const rsaAlgorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"];
const curveAlgorithms: Readonly<Record<string, string>> = {
  prime256v1: "ES256",
  secp384r1: "ES384",
  secp521r1: "ES512",
};

/** Public-key signatures only: with a shared secret (HS256), every verifier could sign. */
export const tokenAlgorithms: readonly string[] = [...rsaAlgorithms, ...Object.values(curveAlgorithms), "EdDSA"];

/** Returns the algorithms of a key's type, the usual one first. None: the key verifies no tokens. */
export function algorithmsOf({ asymmetricKeyType, asymmetricKeyDetails = {} }: KeyObject): readonly string[] {
  const { modulusLength = 0, namedCurve = "" } = asymmetricKeyDetails;
  if (asymmetricKeyType === "rsa") return modulusLength >= 2048 ? rsaAlgorithms : [];
  if (asymmetricKeyType === "ed25519") return ["EdDSA"];
  const algorithm = asymmetricKeyType === "ec" ? curveAlgorithms[namedCurve] : undefined;
  return algorithm === undefined ? [] : [algorithm];
}

/** Maximum number of keys that are tried for one token; bounds the cost of hostile tokens. */
const maxCandidates = 16;

/** The fields of a token's header that choose its key. */
export interface KeyChoice {
  readonly kid?: unknown;
  readonly alg?: unknown;
}

/**
 * Returns the keys of a set that may have signed a token: those of its algorithm's type, with its key ID or
 * without one. Keys that cannot be read, secrets, and keys for encryption are left out. A set is parsed once.
 */
export function candidateKeys(set: TokenKeySet, { kid: id, alg }: KeyChoice): readonly TokenKey[] {
  let keys = parsed.get(set);
  if (keys === undefined) parsed.set(set, (keys = set.keys.flatMap((jwk) => tokenKey(jwk) ?? [])));
  return keys
    .filter(({ kid }) => kid === undefined || id === undefined || kid === id)
    .filter(({ algorithm, algorithms }) => algorithms.some((each) => each === (algorithm ?? each) && each === alg))
    .slice(0, maxCandidates);
}

const parsed = new WeakMap<TokenKeySet, readonly TokenKey[]>();

function tokenKey(jwk: JWK): TokenKey | undefined {
  const { kty, kid, alg, use, key_ops: operations } = jwk;
  if (!["RSA", "EC", "OKP"].includes(kty ?? "") || (use !== undefined && use !== "sig")) return undefined;
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes("verify"))) return undefined;
  try {
    const key = createPublicKey({ key: jwk, format: "jwk" });
    const algorithms = algorithmsOf(key);
    if (algorithms.length === 0) return undefined;
    return {
      key,
      algorithms,
      ...(typeof kid === "string" && { kid }),
      ...(typeof alg === "string" && { algorithm: alg }),
    };
  } catch {
    return undefined;
  }
}

/**
 * Parses a JSON Web Key Set with at least one public key for signatures.
 *
 * @throws CaError `malformed`, whose message continues the name of the set
 */
export function parseTokenKeys(text: string): TokenKeySet {
  let set: Partial<JSONWebKeySet> | null;
  try {
    set = JSON.parse(text) as Partial<JSONWebKeySet> | null;
  } catch (error) {
    throw CaError.from(error, "malformed", "is not JSON, expected a JSON Web Key Set");
  }
  const keys: unknown = set?.keys;
  const isSet = Array.isArray(keys) && keys.every((key) => typeof key === "object" && key !== null);
  if (!isSet) throw new CaError("malformed", 'is not a JSON Web Key Set, expected {"keys": [...]}');
  const found: TokenKeySet = { keys: keys as JWK[] };
  if (!found.keys.some((key) => tokenKey(key) !== undefined))
    throw new CaError("malformed", "has no public key for signatures, expected at least one");
  return found;
}

/**
 * Reads public keys from a file: a JSON Web Key Set, or PEM blocks. Private keys stand for their public parts.
 *
 * @throws CaError `malformed`, or `store` if it cannot be read
 */
export async function readTokenKeys(path: string): Promise<TokenKeySet> {
  const text = await readText(path);
  try {
    const blocks = text.match(/-----BEGIN [A-Z ]+-----[\s\S]*?-----END [A-Z ]+-----/g);
    if (!blocks) return parseTokenKeys(text);
    const keys = blocks.map((block) => createPublicKey(block));
    if (keys.some((key) => algorithmsOf(key).length === 0))
      throw new Error("expected keys of RSA (2048 bits), P-256, P-384, P-521 or Ed25519");
    return { keys: await Promise.all(keys.map((key) => exportJWK(key))) };
  } catch (error) {
    const reason = reasonOf(error);
    throw new CaError("malformed", `${path}: neither a JSON Web Key Set nor public keys in PEM: ${reason}`, {
      cause: error,
    });
  }
}

/** Reports whether a file holds a private key in PEM, which a verifier does not need. */
export async function holdsPrivateKey(path: string): Promise<boolean> {
  return /-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(await readFile(path, "utf8").catch(() => ""));
}
