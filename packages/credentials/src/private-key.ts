import { createECDH, createPrivateKey, createPublicKey } from "node:crypto";
import { readAny, readObjectIdentifier, readUnsigned } from "./asn1-values.js";
import { derTags, type DerReader, explicitTag, malformed, readDer, readWhole } from "./der.js";
import {
  type Curve,
  isRsaKey,
  keyTypes,
  type PublicKey,
  readCurve,
  readKeyAlgorithm,
  uncompressed,
} from "./public-key.js";

/*
 * Private keys as BoringSSL reads them (crypto/evp, crypto/ec, crypto/rsa). Numbers that do not fit together are found
 * as well; OpenSSL, which Node.js has, accepts them.
 */

/** Forms of private keys by the name of their PEM block. */
const forms: Readonly<Record<string, (reader: DerReader) => PublicKey>> = {
  "PRIVATE KEY": (reader) => readWhole(readAttributedKey(reader), readPrivateKeyInfo),
  "EC PRIVATE KEY": (reader) => readEcKey(reader),
  "RSA PRIVATE KEY": readRsaKey,
};

/**
 * Returns the public key of a private one; undefined if the private key is malformed.
 *
 * @param name the name of its PEM block. In the place of a form that is specific to a kind, PKCS #8 is read, too.
 */
export function publicKeyOfPrivate(name: string, der: Uint8Array): PublicKey | undefined {
  const own = forms[name];
  const kind = kinds[name];
  if (own === undefined) return undefined;
  const key = readDer(der, own);
  if (key !== undefined || kind === undefined) return key;
  const other = readDer(der, readPrivateKeyInfo);
  return other?.type === kind ? other : undefined;
}

const kinds: Readonly<Record<string, PublicKey["type"]>> = { "EC PRIVATE KEY": "ec", "RSA PRIVATE KEY": "rsa" };

/** Returns a PKCS #8 key, whose attributes must be well-formed. */
function readAttributedKey(reader: DerReader): Buffer {
  const element = reader.element(derTags.sequence);
  readWhole(element, (whole) =>
    whole.within(derTags.sequence, (fields) => {
      readUnsigned(fields);
      fields.within(derTags.sequence, (algorithm) => {
        readObjectIdentifier(algorithm);
        if (!algorithm.isEmpty) readAny(algorithm);
      });
      fields.take(derTags.octetString);
      fields.optional(explicitTag(0), (field) => field.list(explicitTag(0), readAttribute));
    }),
  );
  return element;
}

function readAttribute(reader: DerReader): void {
  reader.within(derTags.sequence, (fields) => {
    readObjectIdentifier(fields);
    fields.list(derTags.set, readAny);
  });
}

/** Reads a PrivateKeyInfo (RFC 5208). What follows the key is not read. */
function readPrivateKeyInfo(reader: DerReader): PublicKey {
  const [key, { type, curve }] = readWithRest(reader, (fields) => {
    if (readUnsigned(fields) !== 0n) malformed();
    const algorithm = fields.within(derTags.sequence, readKeyAlgorithm);
    return [fields.take(derTags.octetString), algorithm] as const;
  });
  if (curve !== undefined) return readWhole(key, (ecKey) => readEcKey(ecKey, curve));
  return type === keyTypes.rsa ? readWhole(key, readRsaKey) : readWhole(key, readEdwardsKey);
}

function readWithRest<T>(reader: DerReader, read: (fields: DerReader) => T): T {
  return readDer(reader.take(derTags.sequence), read) ?? malformed();
}

/** Reads an ECPrivateKey (RFC 5915). @param known the curve, if it is stated elsewhere, too */
function readEcKey(reader: DerReader, known?: Curve): PublicKey {
  return reader.within(derTags.sequence, (fields) => {
    if (readUnsigned(fields) !== 1n) malformed();
    const secret = fields.take(derTags.octetString);
    const stated = fields.optional(explicitTag(0), (field) => field.within(explicitTag(0), readCurve));
    const curve = known ?? stated ?? malformed();
    if (stated !== undefined && stated !== curve) malformed();
    const point = pointOf(curve, secret);
    const own = fields.optional(explicitTag(1), (field) => field.within(explicitTag(1), readPoint));
    if (own !== undefined && !uncompressed(own, curve).equals(point)) malformed();
    return { type: "ec", curve, point };
  });
}

function readPoint(reader: DerReader): Buffer {
  const content = reader.take(derTags.bitString);
  return content[0] === 0 ? content.subarray(1) : malformed();
}

/** Returns the public point of a secret number, which may be of any length. */
function pointOf(curve: Curve, secret: Buffer): Buffer {
  const first = secret.findIndex((octet) => octet !== 0);
  try {
    const pair = createECDH(curve);
    pair.setPrivateKey(first < 0 ? Buffer.of(0) : secret.subarray(first));
    return pair.getPublicKey();
  } catch {
    return malformed();
  }
}

/** Reads an RSAPrivateKey of two primes (RFC 8017, A.1.2). Its numbers must fit together. */
function readRsaKey(reader: DerReader): PublicKey {
  return reader.within(derTags.sequence, (fields) => {
    if (readUnsigned(fields) !== 0n) malformed();
    const numbers = Array.from({ length: 8 }, () => readUnsigned(fields));
    const [modulus = 0n, exponent = 0n, ...secrets] = numbers;
    return isRsaKey(modulus, exponent) && fitTogether(modulus, exponent, secrets)
      ? { type: "rsa", modulus, exponent }
      : malformed();
  });
}

/** @param secrets the private exponent, the primes, the exponents of the primes, and the coefficient */
function fitTogether(modulus: bigint, exponent: bigint, secrets: readonly bigint[]): boolean {
  const [secret = 0n, p = 0n, q = 0n, ofP = 0n, ofQ = 0n, coefficient = 0n] = secrets;
  if (secret >= modulus || p >= modulus || q >= modulus || p * q !== modulus) return false;
  const isInverse = (a: bigint, b: bigint, m: bigint): boolean => m > 0n && (a * b) % m === 1n;
  return (
    isInverse(secret, exponent, p - 1n) &&
    isInverse(secret, exponent, q - 1n) &&
    ofP < p - 1n &&
    isInverse(exponent, ofP, p - 1n) &&
    ofQ < q - 1n &&
    isInverse(exponent, ofQ, q - 1n) &&
    coefficient < p &&
    isInverse(q, coefficient, p)
  );
}

/** Prefix of a PKCS #8 key of Ed25519, before its 32 octets. */
const edwardsPrefix = Buffer.from("302e020100300506032b657004220420", "hex");

function readEdwardsKey(reader: DerReader): PublicKey {
  const secret = reader.take(derTags.octetString);
  if (secret.length !== 32) malformed();
  const key = createPrivateKey({ key: Buffer.concat([edwardsPrefix, secret]), format: "der", type: "pkcs8" });
  const point = createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-32);
  return { type: "ed25519", point };
}
