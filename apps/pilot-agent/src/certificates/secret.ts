/** A certificate with its key, or roots of trust; PEM, as Envoy takes them. */
export type Secret =
  | { readonly kind: "certificate"; readonly chain: string; readonly key: string }
  | { readonly kind: "roots"; readonly roots: string };

/** The name of the workload's own certificate. */
export const WORKLOAD_CERTIFICATE = "default";
/** The name of the roots that peers are verified against. */
export const WORKLOAD_ROOTS = "ROOTCA";

/** Where the content of a named secret comes from, and every change of it. */
export interface SecretSource {
  /**
   * Calls `listener` with the secret as soon as there is one and after each change. The function given back ends that.
   *
   * @throws AgentError where no such secret can ever be
   */
  watch(name: string, listener: (secret: Secret) => void): () => void;
}

const FILE_CERTIFICATE = "file-cert:";
const FILE_ROOTS = "file-root:";
const SYSTEM_ROOTS = "file-root:system";

/** The files that a secret's name points to. */
export type SecretFiles =
  | { readonly kind: "certificate"; readonly chain: string; readonly key: string }
  | { readonly kind: "roots"; readonly path: string }
  | { readonly kind: "system roots" };

/**
 * Reads `file-cert:<chain>~<key>`, `file-root:<path>` and `file-root:system`; `undefined` for a name that is none of
 * these.
 */
export function secretFiles(name: string): SecretFiles | undefined {
  if (name === SYSTEM_ROOTS) return { kind: "system roots" };
  if (name.startsWith(FILE_ROOTS)) {
    const path = name.slice(FILE_ROOTS.length);
    return path === "" ? undefined : { kind: "roots", path };
  }
  if (!name.startsWith(FILE_CERTIFICATE)) return undefined;
  const [chain, key, ...rest] = name.slice(FILE_CERTIFICATE.length).split("~");
  return chain && key && rest.length === 0 ? { kind: "certificate", chain, key } : undefined;
}
