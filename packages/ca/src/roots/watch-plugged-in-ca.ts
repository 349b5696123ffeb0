import { watch } from "node:fs";
import type { CertificateAuthority } from "../authority/certificate-authority.js";
import type { SigningBundle } from "../authority/signing-bundle.js";
import { type Clock, systemClock } from "@istiod/settings";
import { CaError } from "../errors.js";
import { type PluggedInCaOptions, readPluggedInCa } from "./plugged-in-ca.js";

export interface WatchPluggedInCaOptions extends PluggedInCaOptions {
  readonly directory: string;
  readonly authority: CertificateAuthority;
  /** Milliseconds without changes that end a burst. Default: 100. */
  readonly debounce?: number;
  /**
   * Allows roots to be added or removed (Istio's ISTIO_MULTIROOT_MESH). Even then, one set must contain the
   * other, because replacing all roots in one step would break every connection. Default: false.
   */
  readonly multiRoot?: boolean;
  readonly clock?: Clock;
  /** Called after new files were loaded. */
  readonly onReload?: (bundle: SigningBundle) => void;
  /** Called if new files are invalid. The last good ones stay active. */
  readonly onError?: (error: CaError) => void;
}

/**
 * Reloads a plugged-in CA into the authority after each change of its directory, including symbolic links swapped by a
 * Secret volume.
 *
 * @returns a function that stops the watch
 * @throws CaError `store` if the directory cannot be watched
 */
export function watchPluggedInCa(options: WatchPluggedInCaOptions): () => void {
  const { directory, debounce = 100, clock = systemClock, onError } = options;
  let cancel: (() => void) | undefined;
  const report = (error: unknown): void => onError?.(CaError.from(error, "store", `${directory}: reload`));
  const changed = (): void => {
    cancel?.();
    cancel = clock.after(debounce, () => void reload(options).catch(report));
  };
  try {
    const watcher = watch(directory, changed);
    watcher.on("error", report);
    return () => {
      watcher.close();
      cancel?.();
    };
  } catch (error) {
    throw CaError.from(error, "store", `${directory} cannot be watched`);
  }
}

/**
 * Reads the directory once and passes a changed CA to the authority.
 *
 * @returns whether the CA has changed
 * @throws CaError as `readPluggedInCa`, `incomplete` if all files are missing, or `root-change`
 */
export async function reload(options: WatchPluggedInCaOptions): Promise<boolean> {
  const { directory, authority, clock = systemClock, multiRoot = false, onReload } = options;
  const next = await readPluggedInCa(directory, clock.now(), options);
  if (!next) throw new CaError("incomplete", `${directory}: all files of the CA are missing`);
  const current = authority.bundle;
  if (isEqual(next, current)) return false;
  // Revoked certificates would be accepted again.
  if (options.readsRevocationLists && current.revocationLists.length > 0 && next.revocationLists.length === 0)
    throw new CaError("incomplete", `${directory}: ca-crl.pem is missing, keeping the last good revocation lists`);
  if (!rootsMayFollow(current, next, multiRoot)) {
    const rule = multiRoot
      ? "one set of roots must contain the other"
      : "the roots must stay the same unless several are allowed (ISTIO_MULTIROOT_MESH)";
    throw new CaError("root-change", `${directory}: the roots changed; ${rule}`);
  }
  authority.use(next);
  onReload?.(next);
  return true;
}

function isEqual(a: SigningBundle, b: SigningBundle): boolean {
  return (
    a.rootsPem === b.rootsPem &&
    a.revocationListsPem === b.revocationListsPem &&
    a.certificate.raw.equals(b.certificate.raw) &&
    a.chain.join("") === b.chain.join("")
  );
}

function rootsMayFollow(current: SigningBundle, next: SigningBundle, multiRoot: boolean): boolean {
  const before = new Set(current.roots.map((root) => root.fingerprint256));
  const after = new Set(next.roots.map((root) => root.fingerprint256));
  const shared = [...before].filter((root) => after.has(root)).length;
  return multiRoot ? shared === Math.min(before.size, after.size) : shared === before.size && shared === after.size;
}
