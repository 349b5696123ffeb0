import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject, randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { SignJWT } from "jose";
import { CaError } from "../errors.js";
import { readText } from "../files/read-text.js";
import { type SpiffeIdentity, spiffeUri } from "./spiffe-identity.js";
import { algorithmsOf } from "./token-keys.js";

/** Issuer of the tokens that a key pair on disk signs. */
export const tokenKeyIssuer = "istiod";

/** A token to be issued. */
export interface TokenClaims extends Pick<SpiffeIdentity, "namespace" | "serviceAccount"> {
  /** At least one. */
  readonly audiences: readonly string[];
  /** Milliseconds. */
  readonly lifetime: number;
}

/** Suffix of the file of the public key. */
const publicSuffix = ".pub";

/**
 * Creates a key pair that signs tokens: the private key in `path`, which only its owner can read, and the public key in
 * `path.pub`. Existing files are not replaced.
 *
 * @returns the path of the public key
 * @throws CaError `store`
 */
export async function createTokenKey(path: string): Promise<string> {
  const { publicKey, privateKey } = await promisify(generateKeyPair)("ec", { namedCurve: "P-256" });
  const publicPath = `${path}${publicSuffix}`;
  await create(path, privateKey.export({ type: "pkcs8", format: "pem" }), 0o600);
  try {
    await create(publicPath, publicKey.export({ type: "spki", format: "pem" }), 0o644);
  } catch (error) {
    await rm(path);
    throw error;
  }
  return publicPath;
}

async function create(path: string, text: string | Buffer, mode: number): Promise<void> {
  try {
    await writeFile(path, text, { flag: "wx", mode });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST")
      throw new CaError("store", `${path} exists, and is not replaced: its tokens would no longer be accepted`);
    throw CaError.from(error, "store", `${path} cannot be written`);
  }
}

/**
 * Issues a token of a service account, with the claims of a Kubernetes token, signed by the private key in a file.
 *
 * @param now milliseconds since the epoch
 * @throws CaError `identity` for a name that is not valid, `malformed` for a file without a private key, or `store`
 */
export async function issueToken(keyFile: string, claims: TokenClaims, now: number): Promise<string> {
  const { namespace, serviceAccount, audiences, lifetime } = claims;
  // Checks the names, which are the same in every trust domain.
  spiffeUri({ trustDomain: "cluster.local", namespace, serviceAccount });
  if (audiences.length === 0) throw new CaError("malformed", "audiences of the token: at least one is required");
  const { key, algorithm } = await readPrivateKey(keyFile);
  const issuedAt = Math.floor(now / 1000);
  return new SignJWT({ "kubernetes.io": { namespace, serviceaccount: { name: serviceAccount } } })
    .setProtectedHeader({ alg: algorithm, typ: "JWT" })
    .setIssuer(tokenKeyIssuer)
    .setSubject(`system:serviceaccount:${namespace}:${serviceAccount}`)
    .setAudience([...audiences])
    .setIssuedAt(issuedAt)
    .setNotBefore(issuedAt)
    .setExpirationTime(issuedAt + Math.floor(lifetime / 1000))
    .setJti(randomUUID())
    .sign(key);
}

async function readPrivateKey(path: string): Promise<{ readonly key: KeyObject; readonly algorithm: string }> {
  const text = await readText(path);
  try {
    const key = createPrivateKey(text);
    const [algorithm] = algorithmsOf(createPublicKey(key));
    if (algorithm === undefined) throw new Error("expected a key of RSA (2048 bits), P-256, P-384, P-521 or Ed25519");
    return { key, algorithm };
  } catch (error) {
    throw CaError.from(error, "malformed", `${path} is not a private key in PEM that signs tokens`);
  }
}
