import { disjoint } from "./disjoint.js";
import { type Failure, sameFailures } from "./failure.js";
import type { Resource } from "./resource.js";

/** A function of a resource: undefined removes it. */
export type ResourceChange = (resource: Resource) => Resource | undefined;

/** Up to this many resources or parts, looking at each of them costs less than an index. */
const few = 8;

/**
 * An immutable, ordered set of resources with unique names. If a name is given more than once, the first resource is
 * kept.
 *
 * A set may be a union of parts, which may be unions themselves. Parts are shared by identity: a large part of many
 * sets is stored and indexed once, and skipped when two such sets are compared. Resources that many sets have in common
 * should therefore be one part.
 */
export class ResourceSet implements Iterable<Resource> {
  static readonly empty: ResourceSet = new ResourceSet([], []);

  readonly #resources: readonly Resource[];
  readonly #parts: readonly ResourceSet[];
  readonly #failures: readonly Failure[];
  #index: ReadonlyMap<string, Resource> | undefined;
  #fingerprint: number | undefined;

  /** The number of resources. */
  readonly size: number;

  /** Reports whether a resource, or a part of one, is missing because it could not be generated. */
  readonly hasFailures: boolean;

  private constructor(
    resources: readonly Resource[],
    parts: readonly ResourceSet[],
    index?: ReadonlyMap<string, Resource>,
    failures: readonly Failure[] = [],
  ) {
    this.#resources = resources;
    this.#parts = parts;
    this.#index = index;
    this.#failures = failures;
    this.hasFailures =
      failures.length > 0 ||
      parts.some((part) => part.hasFailures) ||
      resources.some((resource) => resource.failures !== undefined);
    this.size = parts.reduce((sum, part) => sum + part.size, resources.length);
  }

  /**
   * Creates a set of resources. O(n).
   *
   * @param failures resources that the set lacks because they could not be generated
   */
  static of(resources: Iterable<Resource>, failures: readonly Failure[] = []): ResourceSet {
    const list = [...resources];
    if (list.length <= few) {
      const unique = list.filter(({ name }, i) => list.findIndex((other) => other.name === name) === i);
      return unique.length + failures.length === 0
        ? ResourceSet.empty
        : new ResourceSet(unique, [], undefined, failures);
    }
    const index = new Map<string, Resource>();
    for (const resource of list) if (!index.has(resource.name)) index.set(resource.name, resource);
    return new ResourceSet(index.size === list.length ? list : [...index.values()], [], index, failures);
  }

  /**
   * Creates the union of parts, in their order; duplicate parts are ignored. Takes time proportional to all parts
   * except the largest. If two parts share a name, all resources are copied.
   */
  static union(sets: Iterable<ResourceSet>): ResourceSet {
    const parts = new Set(sets);
    parts.delete(ResourceSet.empty);
    const list = [...parts];
    if (list.length === 0) return ResourceSet.empty;
    if (list.length === 1 && list[0] !== undefined) return list[0];
    return disjoint(list)
      ? new ResourceSet([], list)
      : ResourceSet.of(
          list.flatMap((part) => part.toArray()),
          list.flatMap((part) => part.#missing()),
        );
  }

  /**
   * Returns the set of what a function returns for each resource: the same, another, or undefined for none. A part in
   * which nothing changes is the same object.
   *
   * @param known results of the function for parts, which are looked up and added
   */
  map(change: ResourceChange, known: WeakMap<ResourceSet, ResourceSet> = new WeakMap()): ResourceSet {
    const earlier = known.get(this);
    if (earlier !== undefined) return earlier;
    const parts = this.#parts.map((part) => part.map(change, known));
    const resources = this.#resources.map(change);
    const isSame =
      parts.every((part, at) => part === this.#parts[at]) &&
      resources.every((resource, at) => resource === this.#resources[at]);
    const mapped = isSame
      ? this
      : this.isUnion
        ? ResourceSet.union(parts)
        : ResourceSet.of(
            resources.filter((resource) => resource !== undefined),
            this.#failures,
          );
    known.set(this, mapped);
    return mapped;
  }

  /** Returns the resource with a name. O(1). */
  get(name: string): Resource | undefined {
    if (this.#index !== undefined) return this.#index.get(name);
    if (this.#parts.length > few) {
      this.#index = new Map(this.toArray().map((resource) => [resource.name, resource]));
      return this.#index.get(name);
    }
    for (const resource of this.#resources) if (resource.name === name) return resource;
    for (const part of this.#parts) {
      const found = part.get(name);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /**
   * Indexes the names for `get` and `has`, and yields after each `step` of them. A set without an index is indexed at
   * once when a name is looked up.
   */
  *index(step: number): Generator<void, void> {
    if (this.#index !== undefined) return;
    if (this.#parts.length <= few) {
      for (const part of this.#parts) yield* part.index(step);
      return;
    }
    const index = new Map<string, Resource>();
    for (const resource of this.toArray()) {
      index.set(resource.name, resource);
      if (index.size % step === 0) yield;
    }
    this.#index = index;
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  /** The parts of a union; the set itself if it is not a union; none if it is empty. */
  get parts(): readonly ResourceSet[] {
    return this.#parts.length > 0 ? this.#parts : this.size > 0 ? [this] : [];
  }

  /** Returns what is missing because it could not be generated: resources, and parts of those that the set has. */
  failures(): readonly Failure[] {
    if (!this.hasFailures) return [];
    return [
      ...this.#failures,
      ...this.#resources.flatMap((resource) => resource.failures ?? []),
      ...this.#parts.flatMap((part) => part.failures()),
    ];
  }

  /** Reports whether the set is a union of parts. */
  get isUnion(): boolean {
    return this.#parts.length > 0;
  }

  /** Returns the resources in order as a new array. */
  toArray(): Resource[] {
    const list: Resource[] = [];
    this.#addTo(list);
    return list;
  }

  [Symbol.iterator](): Iterator<Resource> {
    return this.toArray()[Symbol.iterator]();
  }

  /** Reports whether both have the same names with the same versions in the same order. Shared parts cost nothing. */
  equals(other: ResourceSet): boolean {
    if (this === other) return true;
    if (this.size !== other.size || this.fingerprint() !== other.fingerprint()) return false;
    if ((this.hasFailures || other.hasFailures) && !sameFailures(this.failures(), other.failures())) return false;
    const [mine, others] = [this.#parts, other.#parts];
    if (mine.length > 0 && mine.length === others.length && mine.every(({ size }, i) => size === others[i]?.size)) {
      return mine.every((part, i) => part.equals(others[i] as ResourceSet));
    }
    const counterparts = other.toArray();
    return this.toArray().every((resource, i) => {
      const counterpart = counterparts[i] as Resource;
      return (
        resource === counterpart || (resource.name === counterpart.name && resource.version === counterpart.version)
      );
    });
  }

  /** Returns a 32-bit hash of the set, cached per part. */
  fingerprint(): number {
    if (this.#fingerprint !== undefined) return this.#fingerprint;
    let sum = 0;
    for (const part of this.#parts) sum = (sum + part.fingerprint()) | 0;
    for (const { version } of this.#resources) sum = (sum + numberOf(version)) | 0;
    return (this.#fingerprint = sum);
  }

  /** Returns the failures of whole resources. */
  #missing(): readonly Failure[] {
    return this.hasFailures ? [...this.#failures, ...this.#parts.flatMap((part) => part.#missing())] : [];
  }

  #addTo(list: Resource[]): void {
    for (const resource of this.#resources) list.push(resource);
    for (const part of this.#parts) part.#addTo(list);
  }
}

/** Returns a number from the beginning of a version, which is a hash itself. */
function numberOf(version: string): number {
  let number = 0;
  for (let i = 0; i < version.length && i < 8; i++) number = (Math.imul(number, 67) + version.charCodeAt(i)) | 0;
  return number;
}
