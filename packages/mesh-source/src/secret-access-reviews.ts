import type { Database } from "@istiod/incremental";
import type { CachedReviews } from "@istiod/kubernetes";
import {
  secretPermissionKey,
  secretPermissionRequired,
  secretPermissions,
  type SecretPermission,
  type SecretReader,
} from "@istiod/push-context";
import { type Clock, monotonicClock } from "@istiod/runtime";
import type { Logger } from "pino";
import type { SecretClusterChange } from "./secret-clusters.js";

/** Milliseconds for which a decision is valid. Source: pilot/pkg/credentials/kube/secrets.go. */
const validMs: Readonly<Record<SecretPermission, number>> = { allowed: 300_000, denied: 60_000, undecidable: 60_000 };
/** Bounds of the wait after a review that failed; it doubles with each. */
const minRetryMs = 1000;
const maxRetryMs = 60_000;
/** Time for which a proxy waits for the first decision on it. */
const firstDecisionMs = 2000;

type Reviews = Pick<CachedReviews, "subjectAccess">;

export interface SecretAccessReviewsOptions {
  readonly database: Pick<Database<never>, "commit">;
  /** Returns the reviews by a cluster; undefined if istiod has no access to its API server. */
  readonly reviewsOf: (cluster: string) => Reviews | undefined;
  readonly log: Pick<Logger, "info" | "warn">;
  /** Default: the clock of the process. */
  readonly clock?: Clock;
}

/** A decision that is renewed until it is released. */
export interface HeldSecretPermission {
  /** Settles with the first decision, or when it takes too long. */
  readonly decided: Promise<void>;
  release(): void;
}

interface Account {
  readonly reader: SecretReader;
  readonly decided: Promise<void>;
  readonly settle: () => void;
  holders: number;
  permission: SecretPermission | undefined;
  /** The review whose result counts. */
  review: symbol | undefined;
  failures: number;
  cancel: () => void;
}

/**
 * Decides by SubjectAccessReviews which service accounts may have Secrets: those that may list the Secrets of their
 * namespace in their own cluster. Commits the decisions, and renews them while proxies hold them. While the API server
 * cannot be asked, the last decision stays, and without one there is no permission. No cluster decides for another.
 */
export class SecretAccessReviews {
  readonly #options: SecretAccessReviewsOptions;
  readonly #clock: Clock;
  readonly #accounts = new Map<string, Account>();

  constructor(options: SecretAccessReviewsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? monotonicClock;
    options.database.commit((tx) => tx.set(secretPermissionRequired, "", true));
  }

  /** Holds the decision on a service account. The first holder starts the review. */
  hold(reader: SecretReader): HeldSecretPermission {
    const key = secretPermissionKey(reader);
    const account = this.#accounts.get(key) ?? this.#begin(key, reader);
    account.holders++;
    let isHeld = true;
    return {
      decided: account.decided,
      release: () => {
        if (isHeld) account.holders--;
        isHeld = false;
      },
    };
  }

  /** Asks again about the service accounts of a cluster. The decisions of one that was removed no longer apply. */
  clusterChanged(cluster: string, change: SecretClusterChange): void {
    for (const [key, account] of this.#accounts) {
      if (account.reader.cluster !== cluster) continue;
      account.cancel();
      account.failures = 0;
      if (change === "remove") {
        account.permission = undefined;
        this.#options.database.commit((tx) => tx.delete(secretPermissions, key));
      }
      void this.#review(key, account);
    }
  }

  stop(): void {
    for (const account of this.#accounts.values()) {
      account.cancel();
      account.settle();
    }
    this.#accounts.clear();
  }

  #begin(key: string, reader: SecretReader): Account {
    let settle = (): void => undefined;
    const decided = new Promise<void>((resolve) => (settle = resolve));
    const cancelWait = this.#clock.after(firstDecisionMs, settle);
    const account: Account = {
      reader,
      decided,
      settle: () => {
        cancelWait();
        settle();
      },
      holders: 0,
      permission: undefined,
      review: undefined,
      failures: 0,
      cancel: () => undefined,
    };
    this.#accounts.set(key, account);
    void this.#review(key, account);
    return account;
  }

  async #review(key: string, account: Account): Promise<void> {
    const { reviewsOf, log } = this.#options;
    const { cluster, namespace, serviceAccount } = account.reader;
    const user = { username: `system:serviceaccount:${namespace}:${serviceAccount}` };
    const review = (account.review = Symbol());
    const isOutdated = (): boolean => this.#accounts.get(key) !== account || account.review !== review;
    let delay: number;
    try {
      const access = { verb: "list", group: "", resource: "secrets", namespace };
      const answer = await reviewsOf(cluster)?.subjectAccess(user, access);
      if (isOutdated()) return;
      account.failures = 0;
      const permission = answer === undefined ? "undecidable" : answer.allowed ? "allowed" : "denied";
      this.#decide(key, account, permission);
      delay = validMs[permission];
    } catch (error) {
      if (isOutdated()) return;
      delay = Math.min(minRetryMs * 2 ** account.failures, maxRetryMs);
      if (account.failures++ === 0)
        log.warn({ err: error, cluster, user: user.username }, "access review failed: the last decision stays");
    }
    account.settle();
    account.cancel = this.#clock.after(delay, () => this.#renew(key, account));
  }

  #decide(key: string, account: Account, permission: SecretPermission): void {
    if (account.permission === permission) return;
    const { database, log } = this.#options;
    if (account.permission !== undefined)
      log.info({ account: key, permission }, "the permission to list Secrets has changed");
    account.permission = permission;
    database.commit((tx) => tx.set(secretPermissions, key, permission));
  }

  #renew(key: string, account: Account): void {
    if (account.holders > 0) return void this.#review(key, account);
    this.#accounts.delete(key);
    this.#options.database.commit((tx) => tx.delete(secretPermissions, key));
  }
}
