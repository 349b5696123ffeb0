import { Effects, type PatchContext, type PatchEffect, type Patches } from "@istiod/envoy-filter";
import { type Resource, resource, type ResourceSet } from "@istiod/resources";
import { failureMessage } from "@istiod/push-context";

/** Resources of a client that are patched alike. */
export interface PatchedPart {
  /** The kind of traffic that the resources are for. Absent: they are not patched. */
  readonly context?: PatchContext;
  /** The hosts of an inbound cluster. */
  readonly hosts?: readonly string[];
  readonly set: ResourceSet;
}

/** Applies patches to a resource. Returns the resource itself if nothing changed, and undefined if it is removed. */
export type Patching = (resource: Resource, effects: Effects) => Resource | undefined;

interface Patched {
  readonly resource: Resource | undefined;
  readonly effects: readonly PatchEffect[];
}

/**
 * Applies the same patches to any number of resources, each once: results are kept with the resource, so that of a
 * changed set only the changed resources are patched again.
 */
export class Patcher {
  readonly #patching: Patching;
  readonly #results = new WeakMap<Resource, Patched>();
  readonly #sets = new WeakMap<ResourceSet, ResourceSet>();

  constructor(patching: Patching) {
    this.#patching = patching;
  }

  /** Returns a set in which the resources are patched. Parts in which nothing changes stay the same objects. */
  set(resources: ResourceSet): ResourceSet {
    return resources.map((each) => this.patched(each).resource, this.#sets);
  }

  /** Returns what the patches do to the resources of a set, one list for each resource. */
  *effects(resources: ResourceSet): Generator<readonly PatchEffect[]> {
    for (const each of resources) yield this.patched(each).effects;
  }

  /** Returns a resource with its patches, and what each patch did. */
  patched(unpatched: Resource): Patched {
    let result = this.#results.get(unpatched);
    if (result === undefined) this.#results.set(unpatched, (result = this.#patch(unpatched)));
    return result;
  }

  /** A resource that cannot be patched, which no valid value causes, stays as it was. */
  #patch(unpatched: Resource): Patched {
    const effects = new Effects();
    try {
      const patched = this.#patching(unpatched, effects);
      return { resource: patched, effects: effects.toArray() };
    } catch (error) {
      const failure = failureMessage(error);
      return { resource: unpatched, effects: effects.toArray().map(({ patch }) => ({ patch, failure })) };
    }
  }
}

const patchers = new WeakMap<Patches, Map<string, Patcher>>();

/**
 * Returns the patcher of patches in a place: the same one each time, so that its results are kept as long as the
 * patches are.
 *
 * @param place what the patching depends on in addition to the patches
 */
export function patcherOf(patches: Patches, place: string, newPatching: () => Patching): Patcher {
  let byPlace = patchers.get(patches);
  if (byPlace === undefined) patchers.set(patches, (byPlace = new Map()));
  let patcher = byPlace.get(place);
  if (patcher === undefined) byPlace.set(place, (patcher = new Patcher(newPatching())));
  return patcher;
}

/** Returns the resource that another one is patched to. It lacks the same parts. */
export function patchedResource(name: string, bytes: Uint8Array, original: Resource): Resource {
  return withOriginal(resource(name, bytes), original);
}

/** Returns a resource that another one is patched to, with the failures of that. */
export function withOriginal(patched: Resource, original: Resource): Resource {
  const complete = original.failures === undefined ? patched : { ...patched, failures: original.failures };
  originals.set(complete, original);
  return complete;
}

const originals = new WeakMap<Resource, Resource>();

/** Returns what a resource was before it was patched; undefined if it is not patched. */
export function originalOf(patched: Resource): Resource | undefined {
  return originals.get(patched);
}
