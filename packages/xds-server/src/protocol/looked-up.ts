import { type Resource, sizeOf } from "@istiod/resources";
import { nameBytes, type OutsideResources } from "./outside-resources.js";

/** Results of looking up names outside a set, until the response is built. */
export class LookedUp {
  readonly #resources = new Map<string, Resource | undefined>();
  readonly #outside: OutsideResources;
  #bytes = 0;

  /** @param outside names that are charged already, with the resources that were last sent for them */
  constructor(outside: OutsideResources) {
    this.#outside = outside;
  }

  /** Estimated size in bytes, without what is charged already. */
  get bytes(): number {
    return this.#bytes;
  }

  has(name: string): boolean {
    return this.#resources.has(name);
  }

  set(name: string, resource: Resource | undefined): void {
    this.take(name);
    this.#resources.set(name, resource);
    this.#bytes += this.#bytesOf(name, resource);
  }

  /** Removes a name and returns its resource. */
  take(name: string): Resource | undefined {
    const resource = this.#resources.get(name);
    if (this.#resources.delete(name)) this.#bytes -= this.#bytesOf(name, resource);
    return resource;
  }

  /** Removes all names. Returns them. */
  clear(): readonly string[] {
    const names = [...this.#resources.keys()];
    this.#resources.clear();
    this.#bytes = 0;
    return names;
  }

  #bytesOf(name: string, resource: Resource | undefined): number {
    return (this.#outside.has(name) ? 0 : nameBytes(name)) + (resource === undefined ? 0 : sizeOf(resource));
  }
}
