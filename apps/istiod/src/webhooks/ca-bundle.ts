import type { Security } from "../phases/security.js";

/** Root certificates in PEM, and their changes. */
export interface CaBundle {
  current(): string;
  onChange(listener: () => void): () => void;
}

/**
 * Returns the roots by which API servers verify the webhooks' certificate: those of its file, or of istiod's CA if that
 * issues it. Undefined if they are not known.
 *
 * @param onError called when changed roots cannot be read, and the last good ones stay active
 */
export function caBundle(
  { authority, servingRoots, secure }: Pick<Security, "authority" | "servingRoots" | "secure">,
  onError: () => void,
): CaBundle | undefined {
  servingRoots?.onFailure(onError);
  const source = servingRoots ?? (secure?.isFromFiles === true ? undefined : authority?.authority);
  return source && { current: () => source.bundle.rootsPem, onChange: (listener) => source.onChange(listener) };
}
