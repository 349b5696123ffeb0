import type { TrustSource } from "@istiod/ca";
import type { Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import { trustAnchors } from "@istiod/xds-generators";

/**
 * Keeps the roots of the authorities as an input of the agents' proxy configuration (PCDS). Returns a function that
 * ends this.
 */
export function followTrustAnchors(
  authorities: readonly TrustSource[],
  database: Pick<Database<Proxy>, "commit">,
): () => void {
  const commit = (): void => {
    const roots = authorities.flatMap(({ bundle }) => bundle.roots.map((root) => root.toString()));
    database.commit((tx) => tx.set(trustAnchors, "", roots));
  };
  commit();
  const unfollow = authorities.map((authority) => authority.onChange(commit));
  return () => {
    for (const each of unfollow) each();
  };
}
