import type { Resource } from "@istiod/resources";

/** A run ends at a resource that its number says is an end, but not below the one size, and in any case at the other. */
const leastBytes = 32 * 1024;
const mostBytes = 256 * 1024;
const endsOneIn = 16;

/** Above this many, numbers of equal resources are forgotten: what is made later is only not recognised as equal to what was before. */
const mostNumbers = 50_000;

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
  #equal = new Map<string, number>();
  #last = 0;

  cut(resources: readonly Resource[]): Run[] {
    const runs: Run[] = [];
    let from = 0;
    let bytes = 0;
    let key = "";
    for (const [i, resource] of resources.entries()) {
      const number = this.#number(resource);
      key += `${number.toString(36)} `;
      bytes += resource.bytes.length;
      const isEnd = Math.imul(number, 0x9e3779b1) >>> 0 < 2 ** 32 / endsOneIn;
      if (bytes < (isEnd ? leastBytes : mostBytes) && i < resources.length - 1) continue;
      runs.push({ key, resources: resources.slice(from, i + 1) });
      from = i + 1;
      bytes = 0;
      key = "";
    }
    return runs;
  }

  /** The same for resources of equal name and content. */
  #number(resource: Resource): number {
    let number = this.#numbers.get(resource);
    if (number === undefined) {
      const content = `${resource.version} ${resource.name}`;
      number = this.#equal.get(content);
      if (number === undefined) {
        if (this.#equal.size >= mostNumbers) this.#equal = new Map();
        this.#equal.set(content, (number = ++this.#last));
      }
      this.#numbers.set(resource, number);
    }
    return number;
  }
}
