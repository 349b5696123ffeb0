import { type SigningBundle, signingBundle } from "../authority/signing-bundle.js";
import { createSelfSignedRoot, type SelfSignedRootOptions } from "../authority/self-signed-root.js";
import { CaError } from "../errors.js";
import type { RootStore, StoredRoot } from "./root-store.js";

/**
 * Returns the stored root, or creates and stores one. Several processes that find the store empty at the same time end
 * up with the same root.
 *
 * @param now milliseconds since the epoch
 * @throws CaError `store` or `incomplete` from the store, `signing` from its creation
 */
export async function keepRoot(store: RootStore, options: SelfSignedRootOptions, now: number): Promise<StoredRoot> {
  const kept = await store.load();
  if (kept) return kept;
  const made = await createSelfSignedRoot(options, now);
  if (await store.create(made)) return made;
  const others = await store.load();
  if (!others) throw new CaError("store", `${store.description}: rejects a new root but has none`);
  return others;
}

/**
 * Returns the signing bundle of a self-signed root.
 *
 * @param additionalRoots PEM of additional trusted roots, for meshes that communicate with this one
 * @throws CaError `malformed`, `key-mismatch` or `untrusted` (which includes expired)
 */
export function selfSignedBundle(root: StoredRoot, where: string, now: number, additionalRoots = ""): SigningBundle {
  return signingBundle({ ...root, roots: `${root.certificate}\n${additionalRoots}` }, where, now);
}
