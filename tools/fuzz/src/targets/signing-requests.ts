import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { CaError, readSigningRequest } from "@istiod/ca";
import type { Target } from "../target.js";

/** Encodes an element of up to 65,535 octets. */
function element(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(contents);
  return Buffer.concat([Buffer.of(tag), lengthOctets(body.length), body]);
}

function lengthOctets(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length);
  return length < 0x100 ? Buffer.of(0x81, length) : Buffer.of(0x82, length >> 8, length & 0xff);
}

function request(privateKey: KeyObject, algorithm: string, hash: string | null): Buffer {
  const publicKey = createPublicKey(privateKey).export({ type: "spki", format: "der" });
  const commonName = Buffer.from("300b0603550403130474657374", "hex");
  const info = element(
    0x30,
    Buffer.of(2, 1, 0),
    element(0x30, element(0x31, commonName)),
    publicKey,
    Buffer.of(0xa0, 0),
  );
  const signature = sign(hash, info, privateKey);
  return element(0x30, info, element(0x30, Buffer.from(algorithm, "hex")), element(3, Buffer.of(0), signature));
}

const keys = [
  request(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey, "06082a8648ce3d040302", "sha256"),
  request(generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey, "06092a864886f70d01010b0500", "sha256"),
  request(generateKeyPairSync("ed25519").privateKey, "06032b6570", null),
];

/** Certificate signing requests in DER, and as PEM text. */
export const signingRequests: Target = {
  name: "signing-requests",
  description: "the CA's reader of signing requests",
  seeds: keys,
  dictionary: [
    Buffer.of(0x30, 0x80),
    Buffer.of(0x30, 0x84, 0xff, 0xff, 0xff, 0xff),
    Buffer.from("2a8648ce3d0201", "hex"),
  ],
  async run(input) {
    const der = Buffer.from(input);
    await rejectOrRead(
      `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`,
    );
    await rejectOrRead(der.toString("latin1"));
  },
};

async function rejectOrRead(pem: string): Promise<void> {
  try {
    const { publicKeyDer, key } = await readSigningRequest(pem);
    const independent = createPublicKey({ key: publicKeyDer, format: "der", type: "spki" });
    if (!independent.equals(key.key)) throw new Error("OpenSSL reads another key");
  } catch (error) {
    if (!(error instanceof CaError && error.code === "csr")) throw error;
  }
}
