import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type SigningBundle, signingBundle, type SigningBundlePem } from "../authority/signing-bundle.js";
import { CaError } from "../errors.js";
import { parseCertificates } from "../pem.js";

/** Istio's own names, from the Secret `cacerts`. */
const ISTIO_FILES = {
  certificate: "ca-cert.pem",
  privateKey: "ca-key.pem",
  roots: "root-cert.pem",
  chain: "cert-chain.pem",
} as const;

/** The names of a Secret of type kubernetes.io/tls, as cert-manager writes it. */
const TLS_FILES = { certificate: "tls.crt", privateKey: "tls.key", roots: "ca.crt" } as const;

/**
 * Reads a CA that an operator put into a directory (Istio's ROOT_CA_DIR): `ca-cert.pem`, `ca-key.pem`, `root-cert.pem`
 * and `cert-chain.pem`, or `tls.crt`, `tls.key` and `ca.crt`. The latter are taken where `tls.crt` exists.
 *
 * @param now milliseconds since the epoch
 * @returns `undefined` where no such file exists, so that another CA may be chosen
 * @throws CaError `incomplete` where only some exist, naming the others; `malformed`, `key-mismatch` or `untrusted`
 *   where they do not fit together; `store` where one cannot be read
 */
export async function readPluggedInCa(directory: string, now: number): Promise<SigningBundle | undefined> {
  const tls = await readFiles(directory, TLS_FILES);
  if (tls.certificate !== undefined) {
    requireAll(directory, TLS_FILES, tls);
    return signingBundle({ ...tls, chain: intermediatesOf(tls.roots, directory) } as SigningBundlePem, directory, now);
  }
  const files = await readFiles(directory, ISTIO_FILES);
  if (Object.values(files).every((text) => text === undefined)) {
    if (Object.values(tls).some((text) => text !== undefined)) requireAll(directory, TLS_FILES, tls);
    return undefined;
  }
  requireAll(directory, ISTIO_FILES, files);
  return signingBundle(files, directory, now);
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
    `${directory}: ${missing.join(", ")} missing although ${present.join(", ")} there; a CA needs all of ${Object.values(names).join(", ")}`,
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

/** `ca.crt` may hold certificates between `tls.crt` and the root beside the root itself. */
function intermediatesOf(roots: string, directory: string): string | undefined {
  const between = parseCertificates(roots, `${directory}: ca.crt`).filter(
    (certificate) => certificate.subject !== certificate.issuer,
  );
  return between.length === 0 ? undefined : between.map((certificate) => certificate.toString()).join("\n");
}
