/** A stored self-signed root, in PEM. */
export interface StoredRoot {
  readonly certificate: string;
  readonly privateKey: string;
}

/**
 * Persistent storage of a self-signed root, shared by replicas. Creation and replacement must be atomic: of several
 * replicas that create a root at the same time one succeeds, and the others load its root.
 */
export interface RootStore {
  /** Describes the storage in messages, such as a directory or a Secret. */
  readonly description: string;
  /** Returns the stored root; `undefined` if none was created. @throws CaError if the stored root is incomplete */
  load(): Promise<StoredRoot | undefined>;
  /** Stores a new root. Returns `false` if another one exists. */
  create(root: StoredRoot): Promise<boolean>;
  /** Replaces `current`. Returns `false` if another root is stored by now. */
  replace(current: StoredRoot, next: StoredRoot): Promise<boolean>;
}
