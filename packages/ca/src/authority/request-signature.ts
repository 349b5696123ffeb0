import { constants, type KeyObject, verify, type VerifyKeyObjectInput } from "node:crypto";
import { promisify } from "node:util";
import { CaError } from "../errors.js";
import type { SubjectKey } from "./public-key-info.js";

interface SignatureAlgorithm {
  readonly key: SubjectKey["algorithm"];
  /** Null for algorithms that hash by themselves. */
  readonly hash: "sha256" | "sha384" | "sha512" | null;
  readonly padding?: Pick<VerifyKeyObjectInput, "padding" | "saltLength">;
}

const pss = {
  padding: constants.RSA_PKCS1_PSS_PADDING,
  saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
};

/**
 * The accepted signature algorithms by the contents of their AlgorithmIdentifier in hexadecimal: those of RFC 4055,
 * RFC 5758 and RFC 8410 without SHA-1 and SHA-224. PSS is accepted with the same hash throughout and a salt of its
 * length, as in Go.
 */
const algorithms: ReadonlyMap<string, SignatureAlgorithm> = new Map<string, SignatureAlgorithm>([
  ["06092a864886f70d01010b0500", { key: "rsa", hash: "sha256" }],
  ["06092a864886f70d01010c0500", { key: "rsa", hash: "sha384" }],
  ["06092a864886f70d01010d0500", { key: "rsa", hash: "sha512" }],
  [pssIdentifier("01", "20"), { key: "rsa", hash: "sha256", padding: pss }],
  [pssIdentifier("02", "30"), { key: "rsa", hash: "sha384", padding: pss }],
  [pssIdentifier("03", "40"), { key: "rsa", hash: "sha512", padding: pss }],
  ["06082a8648ce3d040302", { key: "ecdsa", hash: "sha256" }],
  ["06082a8648ce3d040303", { key: "ecdsa", hash: "sha384" }],
  ["06082a8648ce3d040304", { key: "ecdsa", hash: "sha512" }],
  ["06032b6570", { key: "ed25519", hash: null }],
]);

/** Returns id-RSASSA-PSS with its parameters: the hash, MGF1 with the same hash, the salt's length. */
function pssIdentifier(hash: string, saltLength: string): string {
  const hashIdentifier = `300d06096086480165030402${hash}0500`;
  const mgf = `301a06092a864886f70d010108${hashIdentifier}`;
  return `06092a864886f70d01010a3034a00f${hashIdentifier}a11c${mgf}a2030201${saltLength}`;
}

const verifyInPool: (
  algorithm: string | null,
  data: Buffer,
  key: VerifyKeyObjectInput,
  signature: Buffer,
) => Promise<boolean> = promisify(verify);

/**
 * Verifies a signature by a subject's key, in a thread of libuv's pool.
 *
 * @param identifier contents of the signature's AlgorithmIdentifier
 * @throws CaError `csr` if the signature does not match, or its algorithm is not accepted for this key
 */
export async function verifyRequestSignature(
  signed: Buffer,
  identifier: Buffer,
  signature: Buffer,
  subject: SubjectKey,
): Promise<void> {
  const name = identifier.toString("hex");
  const algorithm = algorithms.get(name);
  if (algorithm === undefined)
    throw new CaError("csr", `signing request: signature algorithm ${name.slice(0, 64)} is not accepted`);
  if (algorithm.key !== subject.algorithm)
    throw new CaError("csr", `signing request: its signature algorithm does not fit its key (${subject.description})`);
  const key = { key: subject.key, ...algorithm.padding };
  if (!(await verifyInPool(algorithm.hash, signed, key, signature)))
    throw new CaError("csr", "signing request: its signature does not match its key");
}

const keyAlgorithms: Readonly<Record<string, SubjectKey["algorithm"]>> = {
  rsa: "rsa",
  ec: "ecdsa",
  ed25519: "ed25519",
};

/**
 * Reports whether a key has made a signature with one of the algorithms that are accepted for it.
 *
 * @param identifier contents of the signature's AlgorithmIdentifier
 */
export function verifySignature(signed: Buffer, identifier: Buffer, signature: Buffer, key: KeyObject): boolean {
  const algorithm = algorithms.get(identifier.toString("hex"));
  if (algorithm === undefined || algorithm.key !== keyAlgorithms[key.asymmetricKeyType ?? ""]) return false;
  return verify(algorithm.hash, signed, { key, ...algorithm.padding }, signature);
}
