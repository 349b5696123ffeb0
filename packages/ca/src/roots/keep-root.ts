import { type SigningBundle, signingBundle } from "../authority/signing-bundle.js";
import { makeSelfSignedRoot, type SelfSignedRootOptions } from "../authority/self-signed-root.js";
import { CaError } from "../errors.js";
import type { RootStore, StoredRoot } from "./root-store.js";

/**
 * The root that the store keeps; where there is none yet, one is made and kept. Of several processes that find the
 * store empty at once, all end with the same root.
 *
 * @param now milliseconds since the epoch
 * @throws CaError `store` or `incomplete` from the store, `signing` from making it
 */
export async function keepRoot(store: RootStore, options: SelfSignedRootOptions, now: number): Promise<StoredRoot> {
  const kept = await store.load();
  if (kept) return kept;
  const made = await makeSelfSignedRoot(options, now);
  if (await store.create(made)) return made;
  const others = await store.load();
  if (!others) throw new CaError("store", `${store.description}: it refuses a new root but holds none`);
  return others;
}

/**
 * A signing bundle of a self-signed root.
 *
 * @param additionalRoots PEM of more roots to trust, for meshes that share workloads with this one
 * @throws CaError `malformed`, `key-mismatch` or `untrusted` (which includes expired)
 */
export function selfSignedBundle(root: StoredRoot, where: string, now: number, additionalRoots = ""): SigningBundle {
  return signingBundle({ ...root, roots: `${root.certificate}\n${additionalRoots}` }, where, now);
}
