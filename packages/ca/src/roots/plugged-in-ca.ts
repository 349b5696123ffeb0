import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type SigningBundle,
  signingBundle,
  type SigningBundleNames,
  type SigningBundlePem,
} from "../authority/signing-bundle.js";
import { CaError } from "../errors.js";
import { parseCertificates } from "../pem.js";
import { withRevocationLists } from "../revocation/bundle-lists.js";

/** Istio's file names, as in the Secret `cacerts`. */
const istioFiles = {
  certificate: "ca-cert.pem",
  privateKey: "ca-key.pem",
  roots: "root-cert.pem",
  chain: "cert-chain.pem",
} as const;

/** Istio's name of the optional certificate revocation lists. */
const revocationListsFile = "ca-crl.pem";

/** File names of a Secret of type kubernetes.io/tls, as written by cert-manager. */
const tlsFiles = { certificate: "tls.crt", privateKey: "tls.key", roots: "ca.crt" } as const;

export interface PluggedInCaOptions {
  /** Reads `ca-crl.pem`, if it exists (Istio's PILOT_ENABLE_CA_CRL). Default: false. */
  readonly readsRevocationLists?: boolean;
}

/**
 * Reads an operator-provided CA from a directory (Istio's ROOT_CA_DIR): `ca-cert.pem`, `ca-key.pem`, `root-cert.pem`
 * and `cert-chain.pem`, or `tls.crt`, `tls.key` and `ca.crt`. The latter take precedence if `tls.crt` exists. Invalid
 * revocation lists are reported in the bundle.
 *
 * @param now milliseconds since the epoch
 * @returns `undefined` if none of the files exists
 * @throws CaError `incomplete` if some files are missing, `malformed`, `key-mismatch` or `untrusted` if they are
 *   invalid, `store` if one cannot be read
 */
export async function readPluggedInCa(
  directory: string,
  now: number,
  { readsRevocationLists = false }: PluggedInCaOptions = {},
): Promise<SigningBundle | undefined> {
  const bundle = await readKeyMaterial(directory, now);
  return bundle && readsRevocationLists ? readRevocationLists(directory, bundle, now) : bundle;
}

/**
 * Returns a bundle with the lists in `ca-crl.pem`: none if the file is missing or blank. If they are invalid, the
 * bundle has the reason, and the last good lists.
 *
 * @param last the last good lists
 * @param now milliseconds since the epoch
 */
export async function readRevocationLists(
  directory: string,
  bundle: SigningBundle,
  now: number,
  last: SigningBundle["revocationLists"] = [],
): Promise<SigningBundle> {
  const name = `${directory}: ${revocationListsFile}`;
  const pem = await read(join(directory, revocationListsFile)).catch((error: unknown) =>
    CaError.from(error, "store", name),
  );
  return withRevocationLists(bundle, { pem, name, last, now });
}

/**
 * Reads the certificates and the key, without revocation lists.
 *
 * @param now milliseconds since the epoch
 * @returns `undefined` if none of the files exists
 * @throws CaError as `readPluggedInCa`
 */
export async function readKeyMaterial(directory: string, now: number): Promise<SigningBundle | undefined> {
  const tls = await readFiles(directory, tlsFiles);
  if (tls.certificate !== undefined) {
    requireAll(directory, tlsFiles, tls);
    const chain = intermediatesOf(tls.roots, directory);
    const pem: SigningBundlePem = { ...tls, ...(chain !== undefined && { chain }) };
    return signingBundle(pem, namesIn(directory, { ...tlsFiles, chain: tlsFiles.roots }), now);
  }
  const files = await readFiles(directory, istioFiles);
  if (Object.values(files).every((text) => text === undefined)) {
    if (Object.values(tls).some((text) => text !== undefined)) requireAll(directory, tlsFiles, tls);
    return undefined;
  }
  requireAll(directory, istioFiles, files);
  return signingBundle(files, namesIn(directory, istioFiles), now);
}

function namesIn(directory: string, files: SigningBundleNames): SigningBundleNames {
  const path = (name: string): string => `${directory}: ${name}`;
  return {
    certificate: path(files.certificate),
    privateKey: path(files.privateKey),
    roots: path(files.roots),
    chain: path(files.chain),
  };
}

type Texts<K extends string> = { [key in K]: string | undefined };

function requireAll<K extends string>(
  directory: string,
  names: Readonly<Record<K, string>>,
  texts: Texts<K>,
): asserts texts is { [key in K]: string } {
  const all = Object.keys(names) as K[];
  const missing = all.filter((key) => texts[key] === undefined).map((key) => names[key]);
  if (missing.length === 0) return;
  const present = all.filter((key) => texts[key] !== undefined).map((key) => names[key]);
  throw new CaError(
    "incomplete",
    `${directory}: ${missing.join(", ")} missing although ${present.join(", ")} exist; a CA needs all of ${Object.values(names).join(", ")}`,
  );
}

async function readFiles<K extends string>(directory: string, names: Readonly<Record<K, string>>): Promise<Texts<K>> {
  const entries = Object.entries<string>(names).map(
    async ([key, name]) => [key, await read(join(directory, name))] as const,
  );
  return Object.fromEntries(await Promise.all(entries)) as Texts<K>;
}

async function read(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw CaError.from(error, "store", `${path} cannot be read`);
  }
}

/** Returns the intermediates in `ca.crt`, which may contain them in addition to the root. */
function intermediatesOf(roots: string, directory: string): string | undefined {
  const between = parseCertificates(roots, `${directory}: ca.crt`).filter(
    (certificate) => certificate.subject !== certificate.issuer,
  );
  return between.length === 0 ? undefined : between.map((certificate) => certificate.toString()).join("\n");
}
