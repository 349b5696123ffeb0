import { type Resource, sizeOf } from "@istiod/resources";
import { Digest } from "../wire/digest.js";

/** Estimated size of a name that only one stream has, with what the source keeps for it, in bytes. */
const nameOverhead = 1024;
const encoder = new TextEncoder();

/** Returns the estimated size of a name that only one stream has. */
export function nameBytes(name: string): number {
  return nameOverhead + name.length;
}

/** Subscribed names that are not in the set of their type, with the resource that was sent for them, if any. */
export class OutsideResources {
  readonly #resources = new Map<string, Resource | undefined>();
  /** Names that were in the set when the client subscribed. They are not counted: the source removed them. */
  readonly #lost = new Set<string>();
  #digest = new Digest();
  #bytes = 0;

  /** Digest of the names and versions of the resources. */
  get digest(): Digest {
    return this.#digest;
  }

  /** Estimated size of the names and their resources in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#resources.size;
  }

  /** The number of names whose resources have left the set. */
  get lost(): number {
    return this.#lost.size;
  }

  has(name: string): boolean {
    return this.#resources.has(name);
  }

  get(name: string): Resource | undefined {
    return this.#resources.get(name);
  }

  set(name: string, resource: Resource | undefined): void {
    const before = this.#resources.get(name);
    if (before !== undefined && before === resource) return;
    if (before === undefined && !this.#resources.has(name)) this.#bytes += nameBytes(name);
    this.#count(before, -1);
    this.#resources.set(name, resource);
    this.#count(resource, 1);
  }

  /** Adds a name whose resource has left the set. */
  lose(name: string): void {
    if (this.#resources.has(name)) return;
    this.#lost.add(name);
    this.#resources.set(name, undefined);
  }

  /** Removes a name. Returns false if it was absent. */
  delete(name: string): boolean {
    const before = this.#resources.get(name);
    if (!this.#resources.delete(name)) return false;
    if (!this.#lost.delete(name)) this.#bytes -= nameBytes(name);
    this.#count(before, -1);
    return true;
  }

  clear(): void {
    this.#resources.clear();
    this.#lost.clear();
    this.#digest = new Digest();
    this.#bytes = 0;
  }

  /** Returns the resources, in the order in which their names were added. */
  *resources(): Generator<Resource> {
    for (const resource of this.#resources.values()) if (resource !== undefined) yield resource;
  }

  [Symbol.iterator](): Iterator<[string, Resource | undefined]> {
    return this.#resources[Symbol.iterator]();
  }

  #count(resource: Resource | undefined, sign: 1 | -1): void {
    if (resource === undefined) return;
    this.#bytes += sign * sizeOf(resource);
    const [name, version] = [encoder.encode(resource.name), encoder.encode(resource.version)];
    if (sign > 0) this.#digest.add(name, version);
    else this.#digest.remove(name, version);
  }
}
