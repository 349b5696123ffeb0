/** Candidates of the same lock that differ in revision and location. */
export interface TakeoverPriorityOptions {
  /** Revision of this candidate. */
  readonly revision: string;
  /** `true`: the candidate runs outside of the cluster of the lock. Default: false. */
  readonly remote?: boolean;
  /** Returns the revision that is the default now; empty if there is none. */
  readonly defaultRevision: () => string;
}

/** Priority of a candidate, for `LeaderElection`. */
export interface TakeoverPriority {
  /** Stored with the lock while this candidate holds it. */
  readonly key: string;
  /** Reports whether this candidate takes the lock from a holder with this key, although that one renews it. */
  takesOverFrom(holderKey: string): boolean;
}

/** Prefix of the keys of remote candidates. */
const remotePrefix = "^";

/**
 * Returns Istio's priority: the default revision takes over from all others, and within a revision candidates in the
 * lock's cluster take over from remote ones.
 */
export function takeoverPriority({
  revision,
  remote = false,
  defaultRevision,
}: TakeoverPriorityOptions): TakeoverPriority {
  return {
    key: remote ? `${remotePrefix}${revision}` : revision,
    takesOverFrom(holderKey) {
      const isHolderRemote = holderKey.startsWith(remotePrefix);
      const holderRevision = isHolderRemote ? holderKey.slice(remotePrefix.length) : holderKey;
      if (holderRevision !== revision) return revision === defaultRevision();
      return !remote && isHolderRemote;
    },
  };
}
