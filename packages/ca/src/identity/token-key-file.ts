import type { Clock } from "@istiod/runtime";
import type { CaError } from "../errors.js";
import { followFiles, type FollowedFiles } from "../files/follow-files.js";
import { readTokenKeys, type TokenKeySet } from "./token-keys.js";

export interface FollowTokenKeysOptions {
  /** A JSON Web Key Set, or public keys in PEM. */
  readonly path: string;
  readonly clock?: Clock;
  readonly onChange?: () => void;
  /** Called if the changed file is invalid; its last good keys stay active. */
  readonly onError?: (error: CaError) => void;
}

/**
 * Reads the public keys of a file, and again after each change, so that keys can be added and removed.
 *
 * @throws CaError `malformed` or `store` if it cannot be used
 */
export async function followTokenKeys({
  path,
  clock,
  onChange,
  onError,
}: FollowTokenKeysOptions): Promise<FollowedFiles<TokenKeySet>> {
  return followFiles({
    paths: [path],
    read: () => readTokenKeys(path),
    onChange: () => onChange?.(),
    ...(clock !== undefined && { clock }),
    ...(onError !== undefined && { onError }),
  });
}
