import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { reasonOf } from "@istiod/runtime";
import { AgentError } from "../errors.js";
import type { Log } from "../log.js";
import { type Secret, type SecretSource, WORKLOAD_CERTIFICATE, WORKLOAD_ROOTS } from "./secret.js";

export interface OutputOptions {
  readonly directory: string;
  /** Lets other users read the files: containers of the pod, such as Prometheus. */
  readonly isShared: boolean;
  readonly log: Log;
}

/**
 * Writes the workload's certificate and roots to a directory (OUTPUT_CERTS), and again after each change.
 *
 * @returns stops, and resolves once nothing is written any more
 */
export function outputCertificates(secrets: SecretSource, options: OutputOptions): () => Promise<void> {
  const { directory, log } = options;
  let last = Promise.resolve();
  const write = (secret: Secret): void => {
    last = last
      .then(() => writeSecret(secret, options))
      .catch((error: unknown) => log.error(`error when output the resource: ${reasonOf(error)}`));
  };
  const watch = (name: string): (() => void) => {
    try {
      return secrets.watch(name, write);
    } catch (error) {
      log.warn(`OUTPUT_CERTS: secret ${name} is not written to ${directory}: ${reasonOf(error)}`);
      return () => undefined;
    }
  };
  const stops = [watch(WORKLOAD_CERTIFICATE), watch(WORKLOAD_ROOTS)];
  return async () => {
    for (const stop of stops) stop();
    await last;
  };
}

/**
 * Writes a certificate to `key.pem` and `cert-chain.pem`, or roots to `root-cert.pem`. Each file is replaced
 * atomically, unless its content is the same.
 *
 * @throws AgentError `file`
 */
export async function writeSecret(
  secret: Secret,
  { directory, isShared }: Pick<OutputOptions, "directory" | "isShared">,
): Promise<void> {
  const mode = isShared ? 0o644 : 0o600;
  const files: readonly (readonly [string, string])[] =
    secret.kind === "roots"
      ? [["root-cert.pem", secret.roots]]
      : [
          ["key.pem", secret.key],
          ["cert-chain.pem", secret.chain],
        ];
  try {
    await mkdir(directory, { recursive: true, mode: isShared ? 0o755 : 0o700 });
    for (const [name, text] of files) await replace(join(directory, name), text, mode);
  } catch (error) {
    throw AgentError.from(error, "file", `certificate cannot be written to ${directory}`);
  }
}

async function replace(path: string, text: string, mode: number): Promise<void> {
  const current = await readFile(path, "utf8").catch(() => undefined);
  if (current === text) return;
  const temporary = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    await writeFile(temporary, text, { mode: 0o600, flag: "wx" });
    await chmod(temporary, mode);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
