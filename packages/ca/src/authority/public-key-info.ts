import { createPublicKey, type KeyObject } from "node:crypto";
import { CaError } from "../errors.js";
import { DerReader } from "../der/reader.js";
import { tags } from "../der/tags.js";
import { rsaBits } from "../keys.js";

/** A subject's public key that certificates may be issued for. */
export interface SubjectKey {
  readonly key: KeyObject;
  /** Its type and size, such as `RSA 2048` or `P-256`. */
  readonly description: string;
  readonly algorithm: "rsa" | "ecdsa" | "ed25519";
}

interface Curve {
  readonly name: "P-256" | "P-384" | "P-521";
  readonly coordinateLength: number;
}

const oids = { rsa: "2a864886f70d010101", ec: "2a8648ce3d0201", ed25519: "2b6570" } as const;

const curves: ReadonlyMap<string, Curve> = new Map([
  ["2a8648ce3d030107", { name: "P-256", coordinateLength: 32 }],
  ["2b81040022", { name: "P-384", coordinateLength: 48 }],
  ["2b81040023", { name: "P-521", coordinateLength: 66 }],
]);

/** Largest accepted RSA exponent in octets. A larger one makes each verification as expensive as a signature. */
const maxExponentLength = 4;

const uncompressedPoint = 4;

/**
 * Parses a SubjectPublicKeyInfo in DER (RFC 3279 §2.3, RFC 5480, RFC 8410) and checks it before OpenSSL sees it.
 *
 * @throws CaError `csr` for keys other than RSA of 2048 to 8192 bits, P-256, P-384, P-521 and Ed25519
 * @throws DerError for other encodings
 */
export function readSubjectKey(der: Buffer): SubjectKey {
  const reader = new DerReader(der);
  const info = reader.enter(tags.sequence, "public key");
  reader.end("public key");
  const algorithm = info.enter(tags.sequence, "public key algorithm");
  const oid = algorithm.contents(tags.oid, "public key algorithm").toString("hex");
  const key = info.octetsOfBitString("public key bits");
  info.end("public key");
  switch (oid) {
    case oids.rsa:
      return rsaKey(algorithm, key);
    case oids.ec:
      return ecKey(algorithm, key);
    case oids.ed25519:
      return ed25519Key(algorithm, key);
    default:
      throw new CaError("csr", `key algorithm with object identifier ${oid}: expected RSA, ECDSA or Ed25519`);
  }
}

function rsaKey(algorithm: DerReader, bits: Buffer): SubjectKey {
  algorithm.contents(tags.null, "RSA parameters");
  algorithm.end("RSA parameters");
  const outer = new DerReader(bits);
  const key = outer.enter(tags.sequence, "RSA key");
  outer.end("RSA key");
  const modulus = key.positiveInteger("RSA modulus");
  const exponent = key.positiveInteger("RSA exponent");
  key.end("RSA key");
  const size = modulus.length * 8 - Math.clz32(modulus[0] ?? 0) + 24;
  if (size < rsaBits.min || size > rsaBits.max)
    throw new CaError("csr", `RSA key of ${size} bits: expected ${rsaBits.min} to ${rsaBits.max}`);
  if (exponent.length > maxExponentLength || !isOdd(exponent) || !isOdd(modulus))
    throw new CaError("csr", "RSA key: its exponent is even or longer than 32 bits, or its modulus is even");
  // OpenSSL reads a JWK several times faster than DER.
  const jwk = { kty: "RSA", n: modulus.toString("base64url"), e: exponent.toString("base64url") };
  return { key: createPublicKey({ key: jwk, format: "jwk" }), description: `RSA ${size}`, algorithm: "rsa" };
}

function ecKey(algorithm: DerReader, point: Buffer): SubjectKey {
  if (algorithm.nextTag !== tags.oid) throw new CaError("csr", "elliptic curve: expected a named curve");
  const oid = algorithm.contents(tags.oid, "elliptic curve").toString("hex");
  algorithm.end("elliptic curve");
  const curve = curves.get(oid);
  if (curve === undefined)
    throw new CaError("csr", `elliptic curve with object identifier ${oid}: expected P-256, P-384 or P-521`);
  const { name, coordinateLength } = curve;
  if (point[0] !== uncompressedPoint || point.length !== 1 + 2 * coordinateLength)
    throw new CaError("csr", `${name} key: expected an uncompressed point of ${1 + 2 * coordinateLength} octets`);
  const jwk = {
    kty: "EC",
    crv: name,
    x: point.toString("base64url", 1, 1 + coordinateLength),
    y: point.toString("base64url", 1 + coordinateLength),
  };
  return { key: createPublicKey({ key: jwk, format: "jwk" }), description: name, algorithm: "ecdsa" };
}

function ed25519Key(algorithm: DerReader, bits: Buffer): SubjectKey {
  algorithm.end("Ed25519 parameters");
  const jwk = { kty: "OKP", crv: "Ed25519", x: bits.toString("base64url") };
  return { key: createPublicKey({ key: jwk, format: "jwk" }), description: "Ed25519", algorithm: "ed25519" };
}

function isOdd(magnitude: Buffer): boolean {
  return ((magnitude.at(-1) ?? 0) & 1) === 1;
}
