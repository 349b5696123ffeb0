import { type Resource, sizeOf } from "@istiod/resources";
import { sliceNames, type Sliced } from "../sliced.js";

/**
 * A chunk ends at a boundary resource once it has the minimum size, and at any resource once it has the maximum size.
 */
const minBytes = 32 * 1024;
const maxBytes = 256 * 1024;
const maxResources = sliceNames;
/** One in so many resources is a boundary. */
const boundaryInterval = 16;

/** Garbage-collected entries are swept after the table has grown by a half, plus this number. */
const sweepInterval = 1024;
/** Entries that are swept at a time. More than a slice adds, so that a sweep ends. */
const sweptEntries = 2 * sliceNames;

/** Consecutive resources, with a key that equal chunks share. */
export interface Chunk {
  readonly key: string;
  readonly resources: readonly Resource[];
}

/**
 * Splits lists of resources by content-defined chunking: a chunk's boundary depends on the resource there and not on
 * its position, so that lists with long runs in common have most of their chunks in common.
 */
export class Chunker {
  readonly #numbers = new WeakMap<Resource, number>();
  /** One resource of each content and name, to recognize equal resources. */
  readonly #known = new Map<string, WeakRef<Resource>>();
  #sweepAt = sweepInterval;
  /** The entries that a sweep has not reached yet; undefined between sweeps. */
  #unswept: Iterator<[string, WeakRef<Resource>]> | undefined;
  #last = 0;

  /** Number of entries, including garbage-collected entries that are not swept yet. */
  get size(): number {
    return this.#known.size;
  }

  /** Splits a list into chunks. */
  *split(resources: readonly Resource[]): Sliced<Chunk[]> {
    const chunks: Chunk[] = [];
    let from = 0;
    let bytes = 0;
    let numbers: string[] = [];
    for (const [i, resource] of resources.entries()) {
      const number = this.#number(resource);
      numbers.push(number.toString(36));
      bytes += sizeOf(resource);
      const isBoundary = Math.imul(number, 0x9e3779b1) >>> 0 < 2 ** 32 / boundaryInterval;
      if ((i + 1) % sliceNames === 0) {
        this.#sweep();
        yield 0;
      }
      const isFull = bytes >= (isBoundary ? minBytes : maxBytes) || numbers.length === maxResources;
      if (!isFull && i < resources.length - 1) continue;
      chunks.push({ key: numbers.join(" "), resources: resources.slice(from, i + 1) });
      from = i + 1;
      bytes = 0;
      numbers = [];
    }
    this.#sweep();
    return chunks;
  }

  /** Returns a number that resources of equal name and content share. */
  #number(resource: Resource): number {
    let number = this.#numbers.get(resource);
    if (number !== undefined) return number;
    const { name, version } = resource;
    // Envoy resources contain their names, so most versions have one name.
    let key = version;
    let equal = this.#known.get(key)?.deref();
    if (equal !== undefined && equal.name !== name) equal = this.#known.get((key = `${version} ${name}`))?.deref();
    number = equal && this.#numbers.get(equal);
    if (number === undefined) {
      number = ++this.#last;
      this.#known.set(key, new WeakRef(resource));
    }
    this.#numbers.set(resource, number);
    return number;
  }

  /** Continues the sweep, or starts one if the table has grown. */
  #sweep(): void {
    if (this.#unswept === undefined && this.#known.size < this.#sweepAt) return;
    this.#unswept ??= this.#known.entries();
    for (let swept = 0; swept < sweptEntries; swept++) {
      const { done, value } = this.#unswept.next();
      if (done === true) {
        this.#unswept = undefined;
        this.#sweepAt = Math.ceil(this.#known.size * 1.5) + sweepInterval;
        return;
      }
      const [key, resource] = value;
      if (resource.deref() === undefined) this.#known.delete(key);
    }
  }
}
