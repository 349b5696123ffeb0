import type { Clock } from "@istiod/runtime";
import { rootsBundle } from "../authority/roots-bundle.js";
import { readRootsFile } from "../authority/serving-files.js";
import type { AuthorityBundle, TrustSource } from "../authority/signing-bundle.js";
import type { CaError } from "../errors.js";
import { followFiles } from "../files/follow-files.js";

export interface FollowRootsOptions {
  readonly file: string;
  /** Milliseconds without further changes after which the file is read. Default: 100. */
  readonly debounce?: number;
  readonly clock?: Clock;
  readonly onReload?: () => void;
  /** Called if the file is invalid; the last good roots stay active. */
  readonly onError?: (error: CaError) => void;
}

/** The roots in a file. */
export interface FollowedRoots extends TrustSource {
  stop(): void;
}

/**
 * Reads the roots of an authority from a file, and again after each change.
 *
 * @throws CaError `store` or `malformed` that names the file
 */
export async function followRoots({ file, onReload, ...options }: FollowRootsOptions): Promise<FollowedRoots> {
  const listeners = new Set<() => void>();
  let bundle: AuthorityBundle | undefined;
  const followed = await followFiles({
    ...options,
    paths: [file],
    read: async () => {
      const pem = await readRootsFile(file);
      rootsBundle(pem, file);
      return pem;
    },
    onChange: () => {
      bundle = undefined;
      for (const listener of [...listeners]) listener();
      onReload?.();
    },
  });
  return {
    get bundle() {
      return (bundle ??= rootsBundle(followed.current(), file));
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    stop: () => followed.stop(),
  };
}
