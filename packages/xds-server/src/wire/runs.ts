import type { Resource } from "@istiod/resources";

/** A run ends at a resource that its number says is an end, but not below the one size, and in any case at the other. */
const leastBytes = 32 * 1024;
const mostBytes = 256 * 1024;
const endsOneIn = 16;

/** Those that are gone are looked for when there are half as many more than were left the last time, and this many. */
const knownBetween = 1024;

/** Consecutive resources, and a key that equal runs have in common. */
export interface Run {
  readonly key: string;
  readonly resources: readonly Resource[];
}

/**
 * Cuts lists into runs so that lists which have long stretches in common have most runs in common: where a run ends depends on the
 * resource there, and not on its place. (Content-defined chunking, with resources for bytes.)
 */
export class Runs {
  readonly #numbers = new WeakMap<Resource, number>();
  /** One of the resources of each content and name, by which others are recognised as equal to it while it is there. */
  readonly #known = new Map<string, WeakRef<Resource>>();
  #sweepAt = knownBetween;
  #last = 0;

  /** By how many resources others are recognised: those that are in use, and some that are gone. */
  get known(): number {
    return this.#known.size;
  }

  cut(resources: readonly Resource[]): Run[] {
    const runs: Run[] = [];
    let from = 0;
    let bytes = 0;
    let numbers: string[] = [];
    for (const [i, resource] of resources.entries()) {
      const number = this.#number(resource);
      numbers.push(number.toString(36));
      bytes += resource.bytes.length;
      const isEnd = Math.imul(number, 0x9e3779b1) >>> 0 < 2 ** 32 / endsOneIn;
      if (bytes < (isEnd ? leastBytes : mostBytes) && i < resources.length - 1) continue;
      runs.push({ key: numbers.join(" "), resources: resources.slice(from, i + 1) });
      from = i + 1;
      bytes = 0;
      numbers = [];
    }
    return runs;
  }

  /** The same for resources of equal name and content. */
  #number(resource: Resource): number {
    let number = this.#numbers.get(resource);
    if (number !== undefined) return number;
    const { name, version } = resource;
    // Envoy's resources have their names in them: mostly there is one name for a version.
    let key = version;
    let equal = this.#known.get(key)?.deref();
    if (equal !== undefined && equal.name !== name) equal = this.#known.get((key = `${version} ${name}`))?.deref();
    number = equal && this.#numbers.get(equal);
    if (number === undefined) {
      number = ++this.#last;
      this.#known.set(key, new WeakRef(resource));
      if (this.#known.size >= this.#sweepAt) this.#sweep();
    }
    this.#numbers.set(resource, number);
    return number;
  }

  #sweep(): void {
    for (const [key, resource] of this.#known) if (resource.deref() === undefined) this.#known.delete(key);
    this.#sweepAt = Math.ceil(this.#known.size * 1.5) + knownBetween;
  }
}
