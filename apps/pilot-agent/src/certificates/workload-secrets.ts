import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { AgentError } from "../errors.js";
import type { Log } from "../log.js";
import { watchSecret } from "./file-secret.js";
import { watchListedRoots } from "./listed-roots.js";
import {
  isFileSecret,
  type Secret,
  parseListedRoots,
  parseSecretFiles,
  type SecretSource,
  WORKLOAD_CERTIFICATE,
  WORKLOAD_ROOTS,
} from "./secret.js";
import type { TrustAnchors } from "./trust-anchors.js";
import { watchTrustedRoots } from "./trusted-roots.js";
import type { WorkloadCertificate } from "./workload-certificate.js";
import { CERTIFICATE_DIRECTORIES, type WorkloadFiles } from "./workload-files.js";

/** Paths of the system's trust bundle, by distribution. */
const SYSTEM_ROOTS = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
  "/etc/pki/tls/cacert.pem",
  "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
  "/etc/ssl/cert.pem",
] as const;

export interface WorkloadSecretsOptions {
  /** Directory that relative paths are resolved against. */
  readonly directory: string;
  /** The workload's certificate files. */
  readonly files: WorkloadFiles;
  /** Absent if no authority is used; then only files are served. */
  readonly certificate?: WorkloadCertificate;
  /** Roots that istiod adds to those of the workload's own certificate. Default: none. */
  readonly anchors?: TrustAnchors;
  /** File of the revocation lists that peers are checked against. Default: none. */
  readonly revocationLists?: string;
  /** Milliseconds without further changes before a file is read. */
  readonly quiet: number;
  /** Called when files cannot be read or are invalid. */
  readonly onFailure?: () => void;
  readonly log: Log;
}

/** Creates the source of the secrets that the agent serves over SDS: the workload's own, and files by name. */
export function workloadSecrets(options: WorkloadSecretsOptions): SecretSource {
  return {
    watch(name, listener, missing) {
      const onMissing = missing && { onMissing: missing };
      const listed = parseListedRoots(name);
      if (listed !== undefined) {
        const path = resolve(options.directory, listed.path);
        return watchListedRoots(
          (roots) => this.watch(listed.roots, roots, missing),
          { ...options, ...onMissing, path },
          listener,
        );
      }
      if (name === WORKLOAD_CERTIFICATE) return watchWorkloadSecret(options, "certificate", listener);
      if (name === WORKLOAD_ROOTS)
        return watchTrustedRoots((roots) => watchWorkloadSecret(options, "roots", roots), options, listener);
      return watchNamedFiles({ ...options, ...onMissing }, name, listener);
    },
  };
}

/** Watches the workload's secret in files, else the one issued by the authority. */
function watchWorkloadSecret(
  options: WorkloadSecretsOptions,
  kind: Secret["kind"],
  listener: (secret: Secret) => void,
): () => void {
  const { certificate, files } = options;
  const paths = files.paths(kind);
  if (paths) return watchSecret({ ...options, paths }, listener);
  if (!certificate)
    throw new AgentError(
      "file",
      `no workload ${kind === "roots" ? "root certificate" : "certificate"} in ${CERTIFICATE_DIRECTORIES.join(" or ")}, and no certificate authority is configured`,
    );
  let lastRoots: string | undefined;
  return certificate.watch(({ chain, key, roots }) => {
    if (kind === "certificate") return listener({ kind, chain, key });
    if (roots === lastRoots) return;
    lastRoots = roots;
    listener({ kind, roots });
  });
}

function watchNamedFiles(
  options: WorkloadSecretsOptions & { readonly onMissing?: () => void },
  name: string,
  listener: (secret: Secret) => void,
): () => void {
  const { directory, log, onMissing } = options;
  const files = parseSecretFiles(name);
  if (!files && isFileSecret(name)) {
    // Such as a path with "~", which separates the paths.
    log.warn(`failed to generate secret from file: unknown secret ${JSON.stringify(name)}`);
    onMissing?.();
    return () => undefined;
  }
  if (!files) throw new AgentError("file", `unknown secret ${JSON.stringify(name)}`);
  if (files.kind === "certificate") {
    const { kind, chain, key } = files;
    const paths = { kind, chain: resolve(directory, chain), key: resolve(directory, key) };
    return watchSecret({ ...options, paths }, listener);
  }
  const path = files.kind === "roots" ? resolve(directory, files.path) : systemRoots();
  return watchSecret({ ...options, paths: { kind: "roots", path } }, listener);
}

/** Returns the path of the system's trust bundle, or the most common one if there is none. */
function systemRoots(): string {
  return SYSTEM_ROOTS.find((file) => existsSync(file)) ?? SYSTEM_ROOTS[0];
}
