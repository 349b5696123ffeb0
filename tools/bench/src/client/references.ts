/** What the resources of one type refer to by name in another, counted, so that it is known which names come and go as resources do. */
export class References {
  readonly #of = new Map<string, readonly string[]>();
  readonly #users = new Map<string, number>();
  /** Names that came, and that went, since they were last taken. */
  #added = new Set<string>();
  #removed = new Set<string>();

  /** All that is referred to. */
  names(): Iterable<string> {
    return this.#users.keys();
  }

  get size(): number {
    return this.#users.size;
  }

  has(name: string): boolean {
    return this.#users.has(name);
  }

  /** A resource refers to these names, and to none else. */
  set(resource: string, names: readonly string[]): void {
    const before = this.#of.get(resource) ?? [];
    if (names.length === 0) this.#of.delete(resource);
    else this.#of.set(resource, names);
    for (const name of names) this.#count(name, 1);
    for (const name of before) this.#count(name, -1);
  }

  /** The resources that refer to anything are these, and no others. */
  replace(resources: ReadonlyMap<string, readonly string[]>): void {
    for (const resource of this.#of.keys()) if (!resources.has(resource)) this.set(resource, []);
    for (const [resource, names] of resources) this.set(resource, names);
  }

  /** The difference since the last call. */
  take(): { readonly added: readonly string[]; readonly removed: readonly string[] } {
    if (this.#added.size === 0 && this.#removed.size === 0) return nothing;
    const taken = { added: [...this.#added], removed: [...this.#removed] };
    this.#added = new Set();
    this.#removed = new Set();
    return taken;
  }

  #count(name: string, by: 1 | -1): void {
    const users = (this.#users.get(name) ?? 0) + by;
    if (users === 0) {
      this.#users.delete(name);
      if (!this.#added.delete(name)) this.#removed.add(name);
      return;
    }
    this.#users.set(name, users);
    if (users === 1 && by === 1 && !this.#removed.delete(name)) this.#added.add(name);
  }
}

const nothing = { added: [], removed: [] } as const;
