import { randomBytes } from "node:crypto";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AgentError } from "../errors.js";
import type { IssuedCertificate } from "./workload-certificate.js";

/**
 * Writes a certificate to `key.pem`, `cert-chain.pem` and `root-cert.pem` (OUTPUT_CERTS). Each file is replaced
 * atomically.
 *
 * @throws AgentError `file`
 */
export async function writeCertificate(directory: string, certificate: IssuedCertificate): Promise<void> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await replace(join(directory, "key.pem"), certificate.key);
    await replace(join(directory, "cert-chain.pem"), certificate.chain);
    await replace(join(directory, "root-cert.pem"), certificate.roots);
  } catch (error) {
    throw AgentError.from(error, "file", `certificate cannot be written to ${directory}`);
  }
}

async function replace(path: string, text: string): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    await writeFile(temporary, text, { mode: 0o600, flag: "wx" });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
