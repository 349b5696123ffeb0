import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { SecretPaths } from "./file-secret.js";
import type { Secret } from "./secret.js";

/** Directory of a program that provides all three files; it is used if they exist on startup. */
const CREDENTIALS = "./var/run/secrets/workload-spiffe-credentials";
/** Directory whose files replace what the certificate authority issues, each kind if it exists. */
const MOUNTED = "./etc/certs";

/** Directories that may hold the workload's certificate files; relative to the agent's. */
export const CERTIFICATE_DIRECTORIES: readonly string[] = [CREDENTIALS, MOUNTED];

const FILES = { chain: "cert-chain.pem", key: "key.pem", roots: "root-cert.pem" } as const;

/** The workload's certificate files, which take precedence over what a certificate authority issues. */
export class WorkloadFiles {
  /** Reports whether a program provides all files, so that no certificate authority is needed. */
  readonly isProvided: boolean;
  readonly #directory: string;
  readonly #isOutput: boolean;

  /**
   * @param directory directory of the agent
   * @param outputDirectory directory that the agent writes certificates to (OUTPUT_CERTS), which is not a source:
   *   otherwise they would never be renewed
   */
  constructor(directory: string, outputDirectory = "") {
    const credentials = resolve(directory, CREDENTIALS);
    this.isProvided = Object.values(FILES).every((file) => existsSync(join(credentials, file)));
    this.#directory = this.isProvided ? credentials : resolve(directory, MOUNTED);
    this.#isOutput = outputDirectory !== "" && resolve(directory, outputDirectory) === this.#directory;
  }

  /** Returns the paths of the workload's certificate or roots; `undefined` if there are no such files. */
  paths(kind: Secret["kind"]): SecretPaths | undefined {
    if (this.#isOutput) return undefined;
    const path = (file: keyof typeof FILES): string => join(this.#directory, FILES[file]);
    const paths: SecretPaths =
      kind === "roots" ? { kind, path: path("roots") } : { kind, chain: path("chain"), key: path("key") };
    const files = paths.kind === "roots" ? [paths.path] : [paths.chain, paths.key];
    return files.every(hasContent) ? paths : undefined;
  }
}

function hasContent(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}
