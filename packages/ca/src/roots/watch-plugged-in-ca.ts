import { watch } from "node:fs";
import type { CertificateAuthority } from "../authority/certificate-authority.js";
import type { SigningBundle } from "../authority/signing-bundle.js";
import { type Clock, systemClock } from "@istiod/runtime";
import { CaError } from "../errors.js";
import { revocationFault } from "../revocation/bundle-lists.js";
import { type PluggedInCaOptions, readKeyMaterial, readRevocationLists } from "./plugged-in-ca.js";

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
  /** Called if new files are invalid. The last good ones stay active. Not repeated for the same message. */
  readonly onError?: (error: CaError) => void;
}

/** A revocation list may become valid without a change of its file. */
const listsRetryMs = 60_000;

/**
 * Reloads a plugged-in CA into the authority after each change of its directory, including symbolic links swapped by a
 * Secret volume, and every minute while its revocation lists are invalid.
 *
 * @returns a function that stops the watch
 * @throws CaError `store` if the directory cannot be watched
 */
export function watchPluggedInCa(options: WatchPluggedInCaOptions): () => void {
  const { directory, debounce = 100, clock = systemClock, onError } = options;
  let cancel: (() => void) | undefined;
  let isStopped = false;
  let failure: string | undefined;
  const report = (cause: unknown): void => {
    const error = CaError.from(cause, "store", `${directory}: reload`);
    if (error.message !== failure) onError?.(error);
    failure = error.message;
  };
  const reloadAfter = (delay: number): void => {
    cancel?.();
    cancel = clock.after(delay, () => void reloadNow());
  };
  const reloadNow = async (): Promise<void> => {
    await reload(options).then(() => (failure = undefined), report);
    if (!isStopped && options.authority.bundle.revocationProblem !== undefined) reloadAfter(listsRetryMs);
  };
  try {
    const watcher = watch(directory, () => reloadAfter(debounce));
    watcher.on("error", report);
    if (options.authority.bundle.revocationProblem !== undefined) reloadAfter(listsRetryMs);
    return () => {
      isStopped = true;
      watcher.close();
      cancel?.();
    };
  } catch (error) {
    throw CaError.from(error, "store", `${directory} cannot be watched`);
  }
}

/**
 * Reads the directory once and passes a changed CA to the authority. The certificates with their key, and the
 * revocation lists, do not wait for each other: if one is invalid, the other is used nevertheless.
 *
 * @returns whether the CA has changed
 * @throws CaError as `readPluggedInCa`, `incomplete` if all files are missing, `root-change`, or of revocation lists
 */
export async function reload(options: WatchPluggedInCaOptions): Promise<boolean> {
  const { directory, authority, clock = systemClock, onReload } = options;
  const current = authority.bundle;
  const { material, failure } = await nextKeyMaterial(options, current);
  const next = options.readsRevocationLists
    ? await readRevocationLists(directory, material, clock.now(), current.revocationLists)
    : material;
  const isChanged = !isEqual(next, current);
  if (isChanged || next.revocationProblem !== current.revocationProblem) authority.use(next);
  if (isChanged) onReload?.(next);
  if (failure !== undefined) throw failure;
  const problem = revocationFault(next, clock.now());
  if (problem !== undefined) throw new CaError("untrusted", problem);
  return isChanged;
}

/** Returns the certificates and the key in the directory, or the current ones and why those cannot be used. */
async function nextKeyMaterial(
  { directory, clock = systemClock, multiRoot = false }: WatchPluggedInCaOptions,
  current: SigningBundle,
): Promise<{ readonly material: SigningBundle; readonly failure?: CaError }> {
  try {
    const material = await readKeyMaterial(directory, clock.now());
    if (!material) throw new CaError("incomplete", `${directory}: all files of the CA are missing`);
    if (rootsMayFollow(current, material, multiRoot)) return { material };
    const rule = multiRoot
      ? "one set of roots must contain the other"
      : "the roots must stay the same unless several are allowed (ISTIO_MULTIROOT_MESH)";
    throw new CaError("root-change", `${directory}: the roots changed; ${rule}`);
  } catch (error) {
    return { material: current, failure: CaError.from(error, "store", `${directory}: reload`) };
  }
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
