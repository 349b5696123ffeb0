import type { Resource } from "./resource.js";

/** Above this many parts, `get` builds one index over all of them instead of asking each. */
const partsWithoutIndex = 4;

/**
 * An immutable set of resources with unique names, in the order in which they were given. Where a name is given more
 * than once, the first resource stands.
 *
 * A set may be a union of parts. Parts are shared by identity: many sets can hold one large part, which is then stored
 * once, and is skipped when two such sets are compared.
 */
export class ResourceSet implements Iterable<Resource> {
  static readonly empty: ResourceSet = new ResourceSet([], []);

  readonly #resources: readonly Resource[];
  readonly #parts: readonly ResourceSet[];
  #index: Map<string, Resource> | undefined;

  /** The number of resources. */
  readonly size: number;

  private constructor(resources: readonly Resource[], parts: readonly ResourceSet[], index?: Map<string, Resource>) {
    this.#resources = resources;
    this.#parts = parts;
    this.#index = index;
    this.size = parts.reduce((sum, part) => sum + part.size, resources.length);
  }

  /** The set of the given resources. O(n). */
  static of(resources: Iterable<Resource>): ResourceSet {
    const index = new Map<string, Resource>();
    for (const resource of resources) if (!index.has(resource.name)) index.set(resource.name, resource);
    return index.size === 0 ? ResourceSet.empty : new ResourceSet([...index.values()], [], index);
  }

  /**
   * The resources of all parts, in the order of the parts. Unions within unions are flattened, and a part given twice
   * counts once. Costs time proportional to all parts but the largest; where two parts share a name, all of it is copied.
   */
  static union(sets: Iterable<ResourceSet>): ResourceSet {
    const parts = new Set<ResourceSet>();
    for (const set of sets) for (const part of set.parts) parts.add(part);
    if (parts.size === 0) return ResourceSet.empty;
    const list = [...parts];
    if (list.length === 1 && list[0] !== undefined) return list[0];
    return disjoint(list) ? new ResourceSet([], list) : ResourceSet.of(list.flatMap((part) => part.#resources));
  }

  /** The resource of this name. O(1). */
  get(name: string): Resource | undefined {
    if (this.#index === undefined && this.#parts.length <= partsWithoutIndex) {
      for (const part of this.#parts) {
        const found = part.#index?.get(name);
        if (found !== undefined) return found;
      }
      return undefined;
    }
    this.#index ??= new Map(Array.from(this, (resource) => [resource.name, resource]));
    return this.#index.get(name);
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  /** The sets that this is a union of, none of them itself a union; the set alone if it is not one; none if empty. */
  get parts(): readonly ResourceSet[] {
    return this.#parts.length > 0 ? this.#parts : this.size > 0 ? [this] : [];
  }

  *[Symbol.iterator](): Iterator<Resource> {
    yield* this.#resources;
    for (const part of this.#parts) yield* part.#resources;
  }

  /** Whether both hold the same names with the same versions, in the same order. */
  equals(other: ResourceSet): boolean {
    if (this === other) return true;
    if (this.size !== other.size) return false;
    const others = other[Symbol.iterator]();
    for (const resource of this) {
      const counterpart = others.next().value as Resource;
      if (resource !== counterpart && (resource.name !== counterpart.name || resource.version !== counterpart.version)) {
        return false;
      }
    }
    return true;
  }
}

function disjoint(parts: readonly ResourceSet[]): boolean {
  const largest = parts.reduce((a, b) => (b.size > a.size ? b : a));
  const seen = new Set<string>();
  for (const part of parts) {
    if (part === largest) continue;
    for (const { name } of part) {
      if (seen.has(name) || largest.has(name)) return false;
      seen.add(name);
    }
  }
  return true;
}
