import { createHash, hash } from "node:crypto";
import type { Resource, ResourceSet } from "@istiod/resources";
import { SharedWork, SliceCount, sliceNames, type Sliced } from "../sliced.js";
import type { Digest } from "../wire/digest.js";

type Named = Pick<Resource, "name" | "version">;

const versionLength = 16;
const known = new WeakMap<ResourceSet, string>();
const computing = new SharedWork<ResourceSet, string>();

/**
 * Returns the version of a type as a whole, for `version_info` and `system_version_info`: a hash of the names and
 * versions of the set and of subscribed resources outside the set.
 */
export function* versionOf(set: ResourceSet, outside: Digest): Sliced<string> {
  const version = known.get(set) ?? (yield* computing.of(set, () => versionOfSet(set)));
  return outside.size === 0 ? version : digest([{ name: outside.toString(), version }]);
}

/** Computes the version of a union from its parts' versions, so that shared parts are hashed once. */
function* versionOfSet(set: ResourceSet, count = new SliceCount()): Sliced<string> {
  let version = known.get(set);
  if (version !== undefined) return version;
  if (set.isUnion) {
    const parts: Named[] = [];
    for (const part of set.parts) {
      if (count.add()) yield 0;
      parts.push({ name: "", version: known.get(part) ?? (yield* versionOfSet(part, count)) });
    }
    version = yield* digestInSlices(parts, count);
  } else version = yield* digestInSlices(set.toArray(), count);
  known.set(set, version);
  return version;
}

function digest(resources: Iterable<Named>): string {
  return hash("sha256", textOf(resources), "base64url").slice(0, versionLength);
}

function* digestInSlices(resources: readonly Named[], count: SliceCount): Sliced<string> {
  if (resources.length <= sliceNames) {
    if (count.add(resources.length)) yield 0;
    return digest(resources);
  }
  const hashed = createHash("sha256");
  for (let from = 0; from < resources.length; from += sliceNames) {
    hashed.update(textOf(resources.slice(from, from + sliceNames)));
    yield 0;
  }
  return hashed.digest("base64url").slice(0, versionLength);
}

function textOf(resources: Iterable<Named>): string {
  let text = "";
  for (const { name, version } of resources) text += `${name}\0${version}\0`;
  return text;
}
