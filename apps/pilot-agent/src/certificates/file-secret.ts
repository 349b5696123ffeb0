import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { type Clock, reasonOf, systemClock } from "@istiod/runtime";
import { AgentError } from "../errors.js";
import { type Log, silentLog } from "../log.js";
import type { Secret } from "./secret.js";
import { watchFiles } from "./watch-files.js";

/** Paths of a certificate and its key, or of a trust bundle. */
export type SecretPaths =
  | { readonly kind: "certificate"; readonly chain: string; readonly key: string }
  | { readonly kind: "roots"; readonly path: string };

export interface WatchSecretOptions {
  readonly paths: SecretPaths;
  /** Milliseconds without further changes before the files are read. */
  readonly quiet: number;
  /** Called when the files cannot be read or are invalid; once for each reason. */
  readonly onFailure?: () => void;
  /** Called once if the files cannot be used, and there was no secret before. */
  readonly onMissing?: () => void;
  readonly clock?: Clock;
  readonly log?: Log;
}

/**
 * Reads a secret from files. Rejects a key that does not match the certificate, as one may be written before the other.
 *
 * @throws AgentError `file`
 */
export async function readSecret(paths: SecretPaths): Promise<Secret> {
  if (paths.kind === "roots") return { kind: "roots", roots: validCertificates(await read(paths.path), paths.path) };
  const [chain, key] = await Promise.all([read(paths.chain), read(paths.key)]);
  try {
    if (!new X509Certificate(chain).checkPrivateKey(createPrivateKey(key)))
      throw new Error("the private key does not match the certificate");
  } catch (error) {
    throw new AgentError("file", `${paths.chain} and ${paths.key}: ${reasonOf(error)}`, {
      cause: error,
    });
  }
  return { kind: "certificate", chain, key };
}

/**
 * Calls `listener` with the secret, and again after each change. While the files are invalid, the last good secret
 * stays active.
 *
 * @returns stops the watch
 */
export function watchSecret(options: WatchSecretOptions, listener: (secret: Secret) => void): () => void {
  const { paths, quiet, onFailure, onMissing, clock = systemClock, log = silentLog } = options;
  let lastContent = "";
  let lastFailure = "";
  let isStopped = false;
  const update = async (): Promise<void> => {
    try {
      const secret = await readSecret(paths);
      const content = JSON.stringify(secret);
      lastFailure = "";
      if (isStopped || content === lastContent) return;
      lastContent = content;
      listener(secret);
    } catch (error) {
      const failure = `failed to generate secret from file: ${reasonOf(error)}`;
      // A missing directory is looked for each second.
      if (!isStopped && failure !== lastFailure) {
        log.warn(failure);
        onFailure?.();
      }
      if (!isStopped && lastContent === "" && lastFailure === "") onMissing?.();
      lastFailure = failure;
    }
  };
  const files = paths.kind === "roots" ? [paths.path] : [paths.chain, paths.key];
  const stop = watchFiles(files, quiet, () => void update(), clock);
  void update();
  return () => {
    isStopped = true;
    stop();
  };
}

/** Returns the valid certificates of a trust bundle. Envoy rejects a bundle with an invalid one. */
function validCertificates(text: string, path: string): string {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  const valid = blocks.filter((block) => {
    try {
      return new X509Certificate(block).raw.length > 0;
    } catch {
      return false;
    }
  });
  if (valid.length === 0) throw new AgentError("file", `${path} has no valid certificate`);
  return `${valid.join("\n")}\n`;
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw AgentError.from(error, "file", `${path} cannot be read`);
  }
}
