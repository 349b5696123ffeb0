import { ECDH } from "node:crypto";
import { readObjectIdentifier, readUnsigned } from "./asn1-values.js";
import { derTags, type DerReader, malformed, readWhole } from "./der.js";

/** A public key. `point` is in the uncompressed form. */
export type PublicKey =
  | { readonly type: "ec"; readonly curve: Curve; readonly point: Buffer }
  | { readonly type: "rsa"; readonly modulus: bigint; readonly exponent: bigint }
  | { readonly type: "ed25519"; readonly point: Buffer };

export type Curve = (typeof curves)[string];

/** Curves of BoringSSL by object identifier in hexadecimal, in OpenSSL's names. */
const curves: Readonly<Record<string, "secp224r1" | "prime256v1" | "secp384r1" | "secp521r1">> = {
  "2b81040021": "secp224r1",
  "2a8648ce3d030107": "prime256v1",
  "2b81040022": "secp384r1",
  "2b81040023": "secp521r1",
};

/** Object identifiers of kinds of keys in hexadecimal. */
export const keyTypes = { ec: "2a8648ce3d0201", rsa: "2a864886f70d010101", ed25519: "2b6570" } as const;

/** Reads a SubjectPublicKeyInfo (RFC 5280, 4.1.2.7). */
export function readPublicKey(reader: DerReader): PublicKey {
  return reader.within(derTags.sequence, (fields) => {
    const { type, curve } = fields.within(derTags.sequence, readKeyAlgorithm);
    const [unused, ...octets] = fields.take(derTags.bitString);
    if (unused !== 0) return malformed();
    const key = Buffer.from(octets);
    if (curve !== undefined) return { type: "ec", curve, point: uncompressed(key, curve) };
    if (type === keyTypes.ed25519) return key.length === 32 ? { type: "ed25519", point: key } : malformed();
    return readWhole(key, readRsaKey);
  });
}

/** Reads the algorithm of a key, with the parameters that BoringSSL requires. */
export function readKeyAlgorithm(fields: DerReader): { readonly type: string; readonly curve?: Curve } {
  const type = readObjectIdentifier(fields);
  if (type === keyTypes.ec) return { type, curve: readCurve(fields) };
  if (type === keyTypes.rsa && fields.take(derTags.null).length > 0) malformed();
  return type === keyTypes.rsa || type === keyTypes.ed25519 ? { type } : malformed();
}

/** Reads the object identifier of a curve. */
export function readCurve(reader: DerReader): Curve {
  return curves[reader.take(derTags.objectIdentifier).toString("hex")] ?? malformed();
}

/** Returns a point in its uncompressed form. It must be on the curve, and not in the hybrid form. */
export function uncompressed(point: Buffer, curve: Curve): Buffer {
  if (![2, 3, 4].includes(point[0] ?? 0)) return malformed();
  try {
    return Buffer.from(ECDH.convertKey(point, curve, undefined, undefined, "uncompressed") as Buffer);
  } catch {
    return malformed();
  }
}

function readRsaKey(reader: DerReader): PublicKey {
  return reader.within(derTags.sequence, (fields) => {
    const modulus = readUnsigned(fields);
    const exponent = readUnsigned(fields);
    return isRsaKey(modulus, exponent) ? { type: "rsa", modulus, exponent } : malformed();
  });
}

const modulusBits = { least: 512, most: 16_384 };
const longestExponent = 33;

/** Reports whether BoringSSL takes an RSA key: odd, and within its bounds. */
export function isRsaKey(modulus: bigint, exponent: bigint): boolean {
  const bits = bitLength(modulus);
  const isModulus = bits >= modulusBits.least && bits <= modulusBits.most && modulus % 2n === 1n;
  return isModulus && exponent >= 3n && exponent % 2n === 1n && bitLength(exponent) <= longestExponent;
}

export const bitLength = (value: bigint): number => (value === 0n ? 0 : value.toString(2).length);
