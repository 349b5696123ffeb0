import type { Resource } from "@istiod/resources";

/** Versions of resources that are remembered for each type. */
const maxVersions = 4096;

/**
 * Versions of resources that clients have rejected by name or alone. Another client that rejects a response with one of
 * them, and names no resource, most likely rejects it for the same reason.
 */
export class KnownRejections {
  readonly #types = new Map<string, Set<string>>();

  /** Records that a client rejected a resource. */
  add(typeUrl: string, resource: Resource): void {
    let versions = this.#types.get(typeUrl);
    if (versions === undefined) this.#types.set(typeUrl, (versions = new Set()));
    const key = keyOf(resource);
    versions.delete(key);
    versions.add(key);
    if (versions.size <= maxVersions) return;
    for (const oldest of versions) {
      versions.delete(oldest);
      break;
    }
  }

  /** Returns a function that reports whether a resource was rejected; undefined if none of the type was. */
  finder(typeUrl: string): ((resource: Resource) => boolean) | undefined {
    const versions = this.#types.get(typeUrl);
    return versions && ((resource) => versions.has(keyOf(resource)));
  }
}

function keyOf({ name, version }: Resource): string {
  return `${version} ${name}`;
}
