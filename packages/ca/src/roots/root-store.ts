/** A self-signed root as it is kept: PEM text. */
export interface StoredRoot {
  readonly certificate: string;
  readonly privateKey: string;
}

/**
 * Where a self-signed root outlives the process. Replicas that share a store share the root, so making and replacing
 * must be atomic: of several that create at once one wins, and the others load what it made.
 */
export interface RootStore {
  /** Names the place in messages, such as a directory or a Secret. */
  readonly description: string;
  /** The kept root; `undefined` when none was ever made. A half-written one is a `CaError`, never `undefined`. */
  load(): Promise<StoredRoot | undefined>;
  /** Keeps a new root; `false` when another one is there already. */
  create(root: StoredRoot): Promise<boolean>;
  /** Replaces `current`; `false` when something else is kept by now. */
  replace(current: StoredRoot, next: StoredRoot): Promise<boolean>;
}
