import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { AgentError } from "../errors.js";
import type { Log } from "../log.js";
import { watchSecret } from "./file-secret.js";
import { type Secret, secretFiles, type SecretSource, WORKLOAD_CERTIFICATE, WORKLOAD_ROOTS } from "./secret.js";
import type { WorkloadCertificate } from "./workload-certificate.js";

/**
 * Directories in which a workload's certificates may be given as files, the first that has them; relative to the
 * agent's.
 */
export const CERTIFICATE_DIRECTORIES = ["./var/run/secrets/workload-spiffe-credentials", "./etc/certs"];

/** Where distributions keep the machine's roots. */
const SYSTEM_ROOTS = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
  "/etc/pki/tls/cacert.pem",
  "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
  "/etc/ssl/cert.pem",
];

export interface WorkloadSecretsOptions {
  /** What relative paths are relative to. */
  readonly directory: string;
  /** Absent where an authority is not asked: then only files are served. */
  readonly certificate?: WorkloadCertificate;
  /** Directory to which the agent itself writes certificates; it is not read back. */
  readonly outputDirectory?: string;
  /** Milliseconds of quiet after a change of a file. */
  readonly quiet: number;
  readonly log: Log;
}

/** Whether a directory holds a workload's certificate, key and root. */
export function holdsCertificate(directory: string): boolean {
  return ["cert-chain.pem", "key.pem", "root-cert.pem"].every((file) => existsSync(join(directory, file)));
}

/**
 * The secrets that the agent serves by SDS: the workload's own, from files or from the authority, and files by name.
 */
export function workloadSecrets(options: WorkloadSecretsOptions): SecretSource {
  const { directory, certificate, quiet, log } = options;
  const output = options.outputDirectory ? resolve(directory, options.outputDirectory) : undefined;
  const given = CERTIFICATE_DIRECTORIES.map((path) => resolve(directory, path)).find(
    (path) => path !== output && holdsCertificate(path),
  );

  const own = (select: "certificate" | "roots", listener: (secret: Secret) => void): (() => void) => {
    if (given !== undefined) {
      const paths =
        select === "roots"
          ? ({ kind: "roots", path: join(given, "root-cert.pem") } as const)
          : ({ kind: "certificate", chain: join(given, "cert-chain.pem"), key: join(given, "key.pem") } as const);
      return watchSecret({ paths, quiet, log }, listener);
    }
    if (!certificate)
      throw new AgentError(
        "file",
        `no workload certificate: none of ${CERTIFICATE_DIRECTORIES.join(", ")} holds one, and no authority is asked`,
      );
    let last: string | undefined;
    return certificate.watch(({ chain, key, roots }) => {
      if (select === "certificate") return listener({ kind: "certificate", chain, key });
      if (roots === last) return;
      last = roots;
      listener({ kind: "roots", roots });
    });
  };

  return {
    watch(name, listener) {
      if (name === WORKLOAD_CERTIFICATE) return own("certificate", listener);
      if (name === WORKLOAD_ROOTS) return own("roots", listener);
      const files = secretFiles(name);
      if (!files)
        throw new AgentError("file", `${JSON.stringify(name)} is not the name of a secret that the agent has`);
      if (files.kind === "certificate") {
        return watchSecret(
          {
            paths: { kind: "certificate", chain: resolve(directory, files.chain), key: resolve(directory, files.key) },
            quiet,
            log,
          },
          listener,
        );
      }
      const path =
        files.kind === "roots" ? resolve(directory, files.path) : SYSTEM_ROOTS.find((file) => existsSync(file));
      if (path === undefined)
        throw new AgentError("file", `this machine has no roots of its own in any of ${SYSTEM_ROOTS.join(", ")}`);
      return watchSecret({ paths: { kind: "roots", path }, quiet, log }, listener);
    },
  };
}
