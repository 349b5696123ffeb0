import type { RootStore, StoredRoot } from "../roots/root-store.js";

/** A root store that lives as long as the object. Several authorities may share one, as replicas share a Secret. */
export class MemoryRootStore implements RootStore {
  readonly description = "memory";
  #root: StoredRoot | undefined;

  constructor(root?: StoredRoot) {
    this.#root = root;
  }

  async load(): Promise<StoredRoot | undefined> {
    return this.#root;
  }

  async create(root: StoredRoot): Promise<boolean> {
    if (this.#root) return false;
    this.#root = root;
    return true;
  }

  async replace(current: StoredRoot, next: StoredRoot): Promise<boolean> {
    if (this.#root?.certificate !== current.certificate) return false;
    this.#root = next;
    return true;
  }
}
