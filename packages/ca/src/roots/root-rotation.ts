import { X509Certificate } from "node:crypto";
import type { CertificateAuthority } from "../authority/certificate-authority.js";
import { renewSelfSignedRoot } from "../authority/self-signed-root.js";
import { type Clock, systemClock } from "@istiod/runtime";
import { CaError } from "../errors.js";
import { selfSignedBundle } from "./keep-root.js";
import type { RootStore, StoredRoot } from "./root-store.js";

export interface RootRotationOptions {
  readonly authority: CertificateAuthority;
  readonly store: RootStore;
  /** Milliseconds between checks. Default: 1 hour (Istio's CITADEL_SELF_SIGNED_ROOT_CERT_CHECK_INTERVAL). */
  readonly interval?: number;
  /**
   * Remaining fraction of the lifetime at which the root is renewed. Default: 0.2 (…_GRACE_PERIOD_PERCENTILE of 20).
   */
  readonly grace?: number;
  /** Lifetime of a renewed root in milliseconds. Default: 3650 days. */
  readonly lifetime?: number;
  /** PEM of additional trusted roots. */
  readonly additionalRoots?: string;
  /** A number from 0 to 1 that spreads the first check of replicas over one interval. Default: Math.random. */
  readonly random?: () => number;
  readonly clock?: Clock;
  /** Called after a failed check. The current root stays active until the next check. */
  readonly onError?: (error: CaError) => void;
}

/**
 * Result of a check. `adopted`: another replica had renewed the root. `renewed`: the check renewed it with its own key.
 */
export type RootCheck = "unchanged" | "adopted" | "renewed";

/** Renews a self-signed root before it expires. */
export class RootRotation {
  readonly #options: RootRotationOptions;
  readonly #clock: Clock;
  readonly #interval: number;
  #cancel: (() => void) | undefined;

  constructor(options: RootRotationOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#interval = options.interval ?? 3600 * 1000;
  }

  /** Starts periodic checks. Returns a function that stops them. */
  start(): () => void {
    const { random = Math.random, onError } = this.#options;
    const interval = this.#interval;
    let ended = false;
    const next = (delay: number): void => {
      if (ended) return;
      this.#cancel = this.#clock.after(delay, () => {
        this.check()
          .catch((error: unknown) => onError?.(CaError.from(error, "store", "root check")))
          .finally(() => next(interval));
      });
    };
    next(interval * (1 + random()));
    return () => {
      ended = true;
      this.#cancel?.();
    };
  }

  /**
   * Deadline for renewal, in milliseconds since the epoch: the start of the grace period plus one check interval.
   */
  renewalDue(root: X509Certificate): number {
    return this.#graceBegins(root) + 2 * this.#interval;
  }

  /** Checks once. @throws CaError if the store fails or its root is invalid */
  async check(): Promise<RootCheck> {
    const { authority, store, lifetime } = this.#options;
    const kept = await store.load();
    if (!kept) throw new CaError("store", `${store.description}: the root has disappeared`);
    if (!this.#isAged(kept)) {
      if (sameText(kept.certificate, authority.certificate)) return "unchanged";
      this.#use(kept);
      return "adopted";
    }
    this.#checkRenewable(kept);
    const renewed = await renewSelfSignedRoot(kept, this.#clock.now(), lifetime);
    if (await store.replace(kept, renewed)) {
      this.#use(renewed);
      return "renewed";
    }
    const others = await store.load();
    if (!others) throw new CaError("store", `${store.description}: the root has disappeared`);
    this.#use(others);
    return "adopted";
  }

  #isAged(root: StoredRoot): boolean {
    let certificate: X509Certificate;
    try {
      certificate = new X509Certificate(root.certificate);
    } catch (error) {
      throw CaError.from(error, "malformed", `${this.#options.store.description}: root certificate`);
    }
    return this.#graceBegins(certificate) <= this.#clock.now();
  }

  /**
   * Checks that a root may be renewed: it is that of a CA and the key is its own. Otherwise a Secret with another key
   * would replace the key of the mesh. A root that has expired may be renewed.
   */
  #checkRenewable(root: StoredRoot): void {
    const { validFrom } = new X509Certificate(root.certificate);
    selfSignedBundle(root, this.#options.store.description, Date.parse(validFrom));
  }

  #graceBegins({ validFrom, validTo }: X509Certificate): number {
    const end = Date.parse(validTo);
    return end - (end - Date.parse(validFrom)) * (this.#options.grace ?? 0.2);
  }

  #use(root: StoredRoot): void {
    const { authority, store, additionalRoots } = this.#options;
    authority.use(selfSignedBundle(root, store.description, this.#clock.now(), additionalRoots));
  }
}

function sameText(a: string, b: string): boolean {
  return a.trim() === b.trim();
}
