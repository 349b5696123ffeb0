import { watch } from "node:fs";
import type { CertificateAuthority } from "../authority/certificate-authority.js";
import type { SigningBundle } from "../authority/signing-bundle.js";
import { type Clock, systemClock } from "../clock.js";
import { CaError } from "../errors.js";
import { readPluggedInCa } from "./plugged-in-ca.js";

export interface WatchPluggedInCaOptions {
  readonly directory: string;
  readonly authority: CertificateAuthority;
  /** Milliseconds of quiet after which a burst of changes is read. Default: 100. */
  readonly debounce?: number;
  /**
   * Whether roots may be added or removed (Istio's ISTIO_MULTIROOT_MESH). Even then one set must hold the other,
   * because a mesh whose root changes from one to another in one step loses every connection. Default: false.
   */
  readonly multiRoot?: boolean;
  readonly clock?: Clock;
  /** The authority uses new files now. */
  readonly onReload?: (bundle: SigningBundle) => void;
  /** New files were refused; the authority goes on with the last good ones. */
  readonly onError?: (error: CaError) => void;
}

/**
 * Follows the directory of a plugged-in CA and gives the authority what is there after each change, also where a
 * Secret's volume swaps a symbolic link.
 *
 * @returns ends the watch
 * @throws CaError `store` where the directory cannot be watched
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
 * Reads the directory once and gives the authority what is there, if it differs from what it uses.
 *
 * @returns whether it differed
 * @throws CaError as `readPluggedInCa`, and `incomplete` where all files are gone or `root-change`
 */
export async function reload(options: WatchPluggedInCaOptions): Promise<boolean> {
  const { directory, authority, clock = systemClock, multiRoot = false, onReload } = options;
  const next = await readPluggedInCa(directory, clock.now());
  if (!next) throw new CaError("incomplete", `${directory}: all files of the CA are gone`);
  const current = authority.bundle;
  if (isEqual(next, current)) return false;
  if (!rootsMayFollow(current, next, multiRoot)) {
    const rule = multiRoot
      ? "one of both sets of roots must hold the other"
      : "the roots must stay the same unless several are allowed";
    throw new CaError("root-change", `${directory}: the roots changed; ${rule}`);
  }
  authority.use(next);
  onReload?.(next);
  return true;
}

function isEqual(a: SigningBundle, b: SigningBundle): boolean {
  return (
    a.rootsPem === b.rootsPem && a.certificate.raw.equals(b.certificate.raw) && a.chain.join("") === b.chain.join("")
  );
}

function rootsMayFollow(current: SigningBundle, next: SigningBundle, multiRoot: boolean): boolean {
  const before = new Set(current.roots.map((root) => root.fingerprint256));
  const after = new Set(next.roots.map((root) => root.fingerprint256));
  const shared = [...before].filter((root) => after.has(root)).length;
  return multiRoot ? shared === Math.min(before.size, after.size) : shared === before.size && shared === after.size;
}
