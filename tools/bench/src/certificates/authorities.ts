import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createSelfSignedRoot, DirectoryRootStore } from "@istiod/ca";
import { mint, type Minted } from "@istiod/ca/testing";

export const keyTypes = ["P-256", "RSA 2048"] as const;
export type KeyType = (typeof keyTypes)[number];

export const authorityKinds = ["self-signed", "plugged-in"] as const;
/** A root that istiod has created, or an intermediate of an intermediate of a root, as files of a plugged-in CA. */
export type AuthorityKind = (typeof authorityKinds)[number];

/** The files of a CA for istiod. */
export interface AuthorityFiles {
  /** The directory for `--caDir`. */
  readonly caDir: string;
  /** Environment variables of istiod. */
  readonly env: Readonly<Record<string, string>>;
  /** File of the root certificate. */
  readonly rootFile: string;
}

/** Creates a CA whose keys are all of a type, in a new directory. */
export async function createAuthority(kind: AuthorityKind, key: KeyType, directory: string): Promise<AuthorityFiles> {
  return kind === "self-signed" ? selfSigned(key, directory) : pluggedIn(key, directory);
}

async function selfSigned(key: KeyType, directory: string): Promise<AuthorityFiles> {
  const root = await createSelfSignedRoot(
    {
      organization: "cluster.local",
      key: key === "P-256" ? { type: "ecdsa", curve: key } : { type: "rsa", bits: 2048 },
    },
    Date.now(),
  );
  const caDir = join(directory, "ca");
  await new DirectoryRootStore(caDir).create(root);
  return { caDir, env: {}, rootFile: join(caDir, "ca-cert.pem") };
}

async function pluggedIn(key: KeyType, directory: string): Promise<AuthorityFiles> {
  const create = (name: string, issuer?: Minted): Promise<Minted> =>
    mint({ ca: true, subject: `CN=${name}`, key: newKey(key), notAfter: dayMs, ...(issuer && { issuer }) });
  const root = await create("root");
  const regional = await create("region", root);
  const issuer = await create("cluster", regional);
  const files = join(directory, "cacerts");
  await mkdir(files, { recursive: true, mode: 0o700 });
  const contents = {
    "ca-cert.pem": issuer.pem,
    "ca-key.pem": issuer.keyPem,
    "cert-chain.pem": issuer.pem + regional.pem + root.pem,
    "root-cert.pem": root.pem,
  };
  for (const [name, text] of Object.entries(contents)) await writeFile(join(files, name), text, { mode: 0o600 });
  return { caDir: join(directory, "ca"), env: { ROOT_CA_DIR: files }, rootFile: join(files, "root-cert.pem") };
}

const dayMs = 24 * 3600_000;

function newKey(type: KeyType): KeyObject {
  return type === "P-256"
    ? generateKeyPairSync("ec", { namedCurve: type }).privateKey
    : generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
}
