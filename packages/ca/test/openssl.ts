import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll } from "vitest";

const run = promisify(execFile);

/** A directory that is removed after the file's tests. */
export async function scratch(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "istiod-ca-"));
  afterAll(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

export async function openssl(...args: string[]): Promise<string> {
  return (await run("openssl", args)).stdout;
}

/** Verifies leaf → chain → root with openssl at a time in seconds; throws openssl's words. */
export async function verify(
  chain: readonly string[],
  options: { at?: number; purpose?: "sslserver" | "sslclient" } = {},
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "istiod-ca-verify-"));
  try {
    const [leaf, root] = [join(directory, "leaf.pem"), join(directory, "root.pem")];
    const between = chain.slice(1, -1).join("");
    await writeFile(leaf, chain[0]!);
    await writeFile(root, chain.at(-1)!);
    await writeFile(join(directory, "chain.pem"), between);
    const untrusted = between === "" ? [] : ["-untrusted", join(directory, "chain.pem")];
    const at = options.at === undefined ? [] : ["-attime", String(Math.floor(options.at))];
    await openssl(
      "verify",
      "-x509_strict",
      "-purpose",
      options.purpose ?? "sslserver",
      ...at,
      "-CAfile",
      root,
      ...untrusted,
      leaf,
    );
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Prints a certificate as openssl reads it. */
export async function show(pem: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "istiod-ca-show-"));
  try {
    await writeFile(join(directory, "c.pem"), pem);
    return await openssl(
      "x509",
      "-in",
      join(directory, "c.pem"),
      "-noout",
      "-text",
      "-certopt",
      "no_pubkey,no_sigdump",
    );
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** A key and request made by openssl; `key` as openssl's `-newkey` (and `-pkeyopt`) takes it. */
export async function request(key: readonly string[], ...more: string[]): Promise<{ request: string; key: string }> {
  const directory = await mkdtemp(join(tmpdir(), "istiod-ca-csr-"));
  try {
    const keyFile = join(directory, "key.pem");
    const csr = await openssl(
      "req",
      "-new",
      "-nodes",
      "-newkey",
      ...key,
      "-keyout",
      keyFile,
      "-subj",
      "/O=anything",
      ...more,
    );
    const { readFile } = await import("node:fs/promises");
    return { request: csr, key: await readFile(keyFile, "utf8") };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

export const P256 = ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
export const P384 = ["ec", "-pkeyopt", "ec_paramgen_curve:secp384r1"];
