/** A certificate with its key, or a trust bundle with revocation lists, if any; PEM. */
export type Secret =
  | { readonly kind: "certificate"; readonly chain: string; readonly key: string }
  | { readonly kind: "roots"; readonly roots: string; readonly revocationLists?: string };

/** Name of the workload's certificate. */
export const WORKLOAD_CERTIFICATE = "default";
/** Name of the trust bundle that peers are verified against. */
export const WORKLOAD_ROOTS = "ROOTCA";

/** A source of secrets by name. */
export interface SecretSource {
  /**
   * Calls `listener` with the secret once it is available, and again after each change.
   *
   * @param missing called once if the files that the name refers to cannot be used, and no secret was available before.
   *   Never called for the workload's own secrets, which are awaited
   * @returns stops the watch
   * @throws AgentError if the name is unknown
   */
  watch(name: string, listener: (secret: Secret) => void, missing?: () => void): () => void;
}

const FILE_CERTIFICATE = "file-cert:";
const FILE_ROOTS = "file-root:";
const SYSTEM_ROOTS = "file-root:system";
const SEPARATOR = "~";

/** Files that a secret's name refers to. */
export type SecretFiles =
  | { readonly kind: "certificate"; readonly chain: string; readonly key: string }
  | { readonly kind: "roots"; readonly path: string }
  | { readonly kind: "system roots" };

/** Reports whether a secret is one of files. */
export function isFileSecret(name: string): boolean {
  return name.startsWith(FILE_CERTIFICATE) || name.startsWith(FILE_ROOTS);
}

/** Reports whether a secret is a trust bundle, by its name. */
export function isRootsName(name: string): boolean {
  return name.startsWith(WORKLOAD_ROOTS) || name.startsWith(FILE_ROOTS);
}

/** Roots that are verified together with revocation lists of a file. */
export interface ListedRoots {
  /** Name of the secret with the roots. */
  readonly roots: string;
  /** Path of the revocation lists. */
  readonly path: string;
}

/**
 * Parses `<roots>~<path of revocation lists>`, in which the roots are `ROOTCA` or those of a file; `undefined` for any
 * other name.
 */
export function parseListedRoots(name: string): ListedRoots | undefined {
  const [roots = "", path, ...rest] = name.split(SEPARATOR);
  const isRoots = roots === WORKLOAD_ROOTS || (roots.startsWith(FILE_ROOTS) && roots !== FILE_ROOTS);
  return isRoots && path && rest.length === 0 ? { roots, path } : undefined;
}

/** Parses `file-cert:<chain>~<key>`, `file-root:<path>` and `file-root:system`; `undefined` for any other name. */
export function parseSecretFiles(name: string): SecretFiles | undefined {
  if (name === SYSTEM_ROOTS) return { kind: "system roots" };
  if (name.startsWith(FILE_ROOTS)) {
    const path = name.slice(FILE_ROOTS.length);
    return path === "" || path.includes(SEPARATOR) ? undefined : { kind: "roots", path };
  }
  if (!name.startsWith(FILE_CERTIFICATE)) return undefined;
  const [chain, key, ...rest] = name.slice(FILE_CERTIFICATE.length).split(SEPARATOR);
  return chain && key && rest.length === 0 ? { kind: "certificate", chain, key } : undefined;
}
