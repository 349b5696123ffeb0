import { generateKeyPairSync, randomInt, sign, type KeyObject, constants, type SignKeyObjectInput } from "node:crypto";
import { describe, expect, it } from "vitest";
import { CaError } from "@istiod/ca";
import { readSigningRequest } from "../src/authority/signing-request.js";
import { tags } from "../src/der/tags.js";
import { derElement, derInteger } from "../src/der/writer.js";

const ecdsaSha256 = "06082a8648ce3d040302";
const rsaSha256 = "06092a864886f70d01010b0500";
const rsaSha1 = "06092a864886f70d0101050500";

interface Parts {
  readonly version?: number;
  readonly publicKey?: Buffer;
  readonly algorithm?: string;
  readonly hash?: string | null;
  readonly sign?: Omit<SignKeyObjectInput, "key">;
  readonly trailing?: Buffer;
}

/** Builds a request, correctly signed unless `parts` says otherwise. */
function csr({ privateKey, publicKey }: { privateKey: KeyObject; publicKey: KeyObject }, parts: Parts = {}): Buffer {
  const info = derElement(
    tags.sequence,
    derElement(tags.integer, Buffer.of(parts.version ?? 0)),
    derElement(tags.sequence),
    parts.publicKey ?? publicKey.export({ type: "spki", format: "der" }),
    derElement(0xa0),
  );
  const { hash = "sha256" } = parts;
  return derElement(
    tags.sequence,
    info,
    derElement(tags.sequence, Buffer.from(parts.algorithm ?? ecdsaSha256, "hex")),
    derElement(tags.bitString, Buffer.of(0), sign(hash, info, { key: privateKey, ...parts.sign })),
    ...(parts.trailing === undefined ? [] : [parts.trailing]),
  );
}

function pem(der: Buffer): string {
  return `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`;
}

async function reasonOf(der: Buffer): Promise<string> {
  const error = await readSigningRequest(pem(der)).then(
    () => expect.fail("the request was accepted"),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(CaError);
  expect((error as CaError).code).toBe("csr");
  return (error as CaError).message;
}

const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });

/** A SubjectPublicKeyInfo of an RSA key. */
function rsaInfo(modulus: Buffer, exponent: Buffer): Buffer {
  const key = derElement(tags.sequence, derInteger(modulus), derInteger(exponent));
  return derElement(
    tags.sequence,
    derElement(tags.sequence, Buffer.from("06092a864886f70d0101010500", "hex")),
    derElement(tags.bitString, Buffer.of(0), key),
  );
}

/** A SubjectPublicKeyInfo of an elliptic curve's key. */
function ecInfo(curve: Buffer, point: Buffer): Buffer {
  return derElement(
    tags.sequence,
    derElement(tags.sequence, Buffer.from("06072a8648ce3d0201", "hex"), curve),
    derElement(tags.bitString, Buffer.of(0), point),
  );
}

const p256 = Buffer.from("06082a8648ce3d030107", "hex");
const point = ec.publicKey.export({ type: "spki", format: "der" }).subarray(-65);

describe("a signing request is accepted", () => {
  it.each<[string, Parts]>([
    ["with PKCS#1 v1.5", { algorithm: rsaSha256 }],
    [
      "with PSS",
      {
        algorithm:
          "06092a864886f70d01010a3034a00f300d06096086480165030402010500a11c301a06092a864886f70d010108300d06096086480165030402010500a203020120",
        sign: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 },
      },
    ],
    ["with SHA-512", { algorithm: "06092a864886f70d01010d0500", hash: "sha512" }],
  ])("by an RSA key, signed %s", async (_, parts) => {
    const { key } = await readSigningRequest(pem(csr(rsa, parts)));
    expect(key.description).toBe("RSA 2048");
    expect(key.key.equals(rsa.publicKey)).toBe(true);
  });

  it.each([
    ["P-256", ecdsaSha256, "sha256"],
    ["P-384", "06082a8648ce3d040303", "sha384"],
    ["P-521", "06082a8648ce3d040304", "sha512"],
  ])("by a key %s", async (namedCurve, algorithm, hash) => {
    const pair = generateKeyPairSync("ec", { namedCurve });
    const { key, publicKeyDer } = await readSigningRequest(pem(csr(pair, { algorithm, hash })));
    expect(key.description).toBe(namedCurve);
    expect(publicKeyDer).toEqual(pair.publicKey.export({ type: "spki", format: "der" }));
  });

  it("by an Ed25519 key", async () => {
    const pair = generateKeyPairSync("ed25519");
    const { key } = await readSigningRequest(pem(csr(pair, { algorithm: "06032b6570", hash: null })));
    expect(key.description).toBe("Ed25519");
    expect(key.key.equals(pair.publicKey)).toBe(true);
  });
});

describe("a signing request is rejected", () => {
  const modulus = Buffer.from(rsa.publicKey.export({ format: "jwk" }).n!, "base64url");
  const even = Buffer.from(modulus);
  even[even.length - 1]! &= 0xfe;
  it.each<[string, Buffer, string]>([
    [
      "with an exponent that makes verification slow",
      csr(rsa, { algorithm: rsaSha256, publicKey: rsaInfo(modulus, Buffer.alloc(256, 0x7f)) }),
      "RSA key: its exponent is even or longer than 32 bits, or its modulus is even",
    ],
    [
      "with an even modulus",
      csr(rsa, { algorithm: rsaSha256, publicKey: rsaInfo(even, Buffer.of(1, 0, 1)) }),
      "RSA key: its exponent is even or longer than 32 bits, or its modulus is even",
    ],
    [
      "with an RSA key of 16,384 bits",
      csr(rsa, { algorithm: rsaSha256, publicKey: rsaInfo(Buffer.alloc(2048, 0xff), Buffer.of(3)) }),
      "RSA key of 16384 bits: expected 2048 to 8192",
    ],
    [
      "with explicit curve parameters",
      csr(ec, { publicKey: ecInfo(derElement(tags.sequence, Buffer.of(2, 1, 1)), point) }),
      "elliptic curve: expected a named curve",
    ],
    [
      "with a compressed point",
      csr(ec, { publicKey: ecInfo(p256, Buffer.concat([Buffer.of(2), point.subarray(1, 33)])) }),
      "P-256 key: expected an uncompressed point of 65 octets",
    ],
    [
      "with the point at infinity",
      csr(ec, { publicKey: ecInfo(p256, Buffer.of(0)) }),
      "P-256 key: expected an uncompressed point of 65 octets",
    ],
    [
      "with a signature by SHA-1",
      csr(rsa, { algorithm: rsaSha1, hash: "sha1" }),
      `signing request: signature algorithm ${rsaSha1} is not accepted`,
    ],
    [
      "whose signature algorithm is that of another type of key",
      csr(ec, { algorithm: rsaSha256 }),
      "signing request: its signature algorithm does not fit its key (P-256)",
    ],
    [
      "that another key has signed",
      csr(ec, {
        publicKey: generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ type: "spki", format: "der" }),
      }),
      "signing request: its signature does not match its key",
    ],
    ["of version 2", csr(ec, { version: 1 }), "version: expected 1"],
    [
      "with bytes after the signature",
      csr(ec, { trailing: Buffer.of(5, 0) }),
      "signing request cannot be read: request: unexpected bytes at the end",
    ],
    [
      "with bytes after the request",
      Buffer.concat([csr(ec), Buffer.of(0)]),
      "signing request cannot be read: request: unexpected bytes at the end",
    ],
    [
      "of indefinite length",
      Buffer.concat([Buffer.of(0x30, 0x80), csr(ec).subarray(3), Buffer.of(0, 0)]),
      "signing request cannot be read: request: length is indefinite or too large",
    ],
  ])("%s", async (_, der, message) => {
    expect(await reasonOf(der)).toBe(message);
  });

  it("with a point off the curve", async () => {
    const off = Buffer.from(point);
    off[64]! ^= 1;
    expect(await reasonOf(csr(ec, { publicKey: ecInfo(p256, off) }))).toMatch(/^signing request cannot be read: /);
  });

  it("with its signature copied from another request", async () => {
    const other = csr(ec);
    const forged = Buffer.concat([csr(ec, { version: 0 }).subarray(0, -8), other.subarray(-8)]);
    expect(await reasonOf(forged)).toBe("signing request: its signature does not match its key");
  });
});

describe("5,000 mutations of a signing request", () => {
  it.each([
    ["RSA", csr(rsa, { algorithm: rsaSha256 }), rsa.publicKey],
    ["P-256", csr(ec), ec.publicKey],
  ])("never yield another key than that of %s, and fail with the code csr", async (_, original, publicKey) => {
    const outcomes = { rejected: 0, accepted: 0 };
    for (let round = 0; round < 2500; round++) {
      const bytes = Buffer.from(original);
      const edits = 1 + (round % 3);
      for (let edit = 0; edit < edits; edit++) bytes[randomInt(bytes.length)] = randomInt(256);
      const cut = round % 5 === 0 ? bytes.subarray(0, randomInt(bytes.length)) : bytes;
      try {
        const { key } = await readSigningRequest(pem(cut));
        expect(key.key.equals(publicKey)).toBe(true);
        outcomes.accepted++;
      } catch (error) {
        expect(error).toBeInstanceOf(CaError);
        expect((error as CaError).code).toBe("csr");
        outcomes.rejected++;
      }
    }
    // An edit may write the byte that was there.
    expect(outcomes.rejected).toBeGreaterThan(2400);
  });
});
