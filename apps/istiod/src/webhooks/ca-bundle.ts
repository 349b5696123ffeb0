import { readRootsFile } from "@istiod/ca";
import type { Logger } from "pino";
import type { FlagValues } from "../flags.js";
import type { Security } from "../phases/security.js";

/** Root certificates in PEM, and their changes. */
export interface CaBundle {
  current(): string;
  onChange(listener: () => void): () => void;
}

/**
 * Returns the roots by which API servers verify the webhooks' certificate: those of istiod's CA, or of --caCertFile if
 * --tlsCertFile is served. Undefined if they are not known.
 *
 * @param onError called when changed roots cannot be read, and the last good ones stay active
 */
export async function caBundle(
  { tlsCertFile, caCertFile }: FlagValues,
  { authority, secure }: Security,
  log: Logger,
  onError: () => void,
): Promise<CaBundle | undefined> {
  if (authority === undefined) return undefined;
  if (tlsCertFile === "")
    return {
      current: () => authority.authority.bundle.rootsPem,
      onChange: (listener) => authority.authority.onChange(listener),
    };
  if (caCertFile === "") {
    log.warn(
      "--caCertFile is not set: the CA bundles of webhooks are not written, because the root of --tlsCertFile is unknown",
    );
    return undefined;
  }
  return fileBundle(caCertFile, secure, log, onError);
}

/** Returns the roots in a file, which is read again whenever the serving certificate changes. */
async function fileBundle(
  file: string,
  secure: Security["secure"],
  log: Logger,
  onError: () => void,
): Promise<CaBundle> {
  let pem = await readRootsFile(file);
  return {
    current: () => pem,
    onChange: (listener) => {
      const reload = (): void => {
        readRootsFile(file).then(
          (read) => {
            pem = read;
            listener();
          },
          (error: Error) => {
            onError();
            log.error({ err: error }, `--caCertFile ${file}: keeping the last good roots: ${error.message}`);
          },
        );
      };
      return secure?.onChange(reload) ?? (() => undefined);
    },
  };
}
