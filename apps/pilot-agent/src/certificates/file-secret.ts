import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { type Clock, systemClock } from "../clock.js";
import { AgentError, reasonOf } from "../errors.js";
import { type Log, silentLog } from "../log.js";
import type { Secret } from "./secret.js";
import { watchFiles } from "./watch-files.js";

/** Paths of a certificate and its key, or of roots. */
export type SecretPaths =
  | { readonly kind: "certificate"; readonly chain: string; readonly key: string }
  | { readonly kind: "roots"; readonly path: string };

export interface WatchSecretOptions {
  readonly paths: SecretPaths;
  /** Milliseconds of quiet after a change. */
  readonly quiet: number;
  readonly clock?: Clock;
  readonly log?: Log;
}

/**
 * Reads a secret from files. A key and certificate are given only if they belong together, as one may be written before
 * the other.
 *
 * @throws AgentError `file`
 */
export async function readSecret(paths: SecretPaths): Promise<Secret> {
  if (paths.kind === "roots") return { kind: "roots", roots: validRoots(await read(paths.path), paths.path) };
  const [chain, key] = await Promise.all([read(paths.chain), read(paths.key)]);
  try {
    if (!new X509Certificate(chain).checkPrivateKey(createPrivateKey(key)))
      throw new Error("the key is of another certificate");
  } catch (error) {
    throw new AgentError("file", `${paths.chain} and ${paths.key} do not fit together: ${reasonOf(error)}`, {
      cause: error,
    });
  }
  return { kind: "certificate", chain, key };
}

/**
 * Calls `listener` with the secret and each change of it; while the files are bad, the last good one stays. The
 * function given back ends that.
 */
export function watchSecret(options: WatchSecretOptions, listener: (secret: Secret) => void): () => void {
  const { paths, quiet, clock = systemClock, log = silentLog } = options;
  let last = "";
  let ended = false;
  const update = async (): Promise<void> => {
    try {
      const secret = await readSecret(paths);
      const text = JSON.stringify(secret);
      if (ended || text === last) return;
      last = text;
      listener(secret);
    } catch (error) {
      log.warn(`secret from a file: ${reasonOf(error)}`);
    }
  };
  const files = paths.kind === "roots" ? [paths.path] : [paths.chain, paths.key];
  const stop = watchFiles(files, quiet, () => void update(), clock);
  void update();
  return () => {
    ended = true;
    stop();
  };
}

/** The blocks of a bundle that are certificates that can be read; Envoy refuses a bundle with one that cannot. */
function validRoots(text: string, path: string): string {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  const valid = blocks.filter((block) => {
    try {
      return new X509Certificate(block).raw.length > 0;
    } catch {
      return false;
    }
  });
  if (valid.length === 0) throw new AgentError("file", `${path} holds no certificate`);
  return `${valid.join("\n")}\n`;
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw AgentError.from(error, "file", `${path} cannot be read`);
  }
}
