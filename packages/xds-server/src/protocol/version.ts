import { createHash, hash } from "node:crypto";
import type { Resource, ResourceSet } from "@istiod/resources";
import { sliceNames, type Sliced } from "../sliced.js";
import type { Digest } from "../wire/digest.js";

const versionLength = 16;
const known = new WeakMap<ResourceSet, string>();

/**
 * Returns the version of a type as a whole, for `version_info` and `system_version_info`: a hash of the names and
 * versions of the set and of subscribed resources outside the set.
 */
export function* versionOf(set: ResourceSet, outside: Digest): Sliced<string> {
  const version = known.get(set) ?? (yield* versionOfSet(set));
  return outside.size === 0 ? version : digest([{ name: outside.toString(), version }]);
}

/** Computes the version of a union from its parts' versions, so that shared parts are hashed once. */
function* versionOfSet(set: ResourceSet): Sliced<string> {
  let version = known.get(set);
  if (version !== undefined) return version;
  if (set.isUnion) {
    const parts: { name: string; version: string }[] = [];
    for (const part of set.parts) parts.push({ name: "", version: known.get(part) ?? (yield* versionOfSet(part)) });
    version = digest(parts);
  } else version = set.size > sliceNames ? yield* digestInSlices(set) : digest(set);
  known.set(set, version);
  return version;
}

function digest(resources: Iterable<Pick<Resource, "name" | "version">>): string {
  return hash("sha256", textOf(resources), "base64url").slice(0, versionLength);
}

function* digestInSlices(set: ResourceSet): Sliced<string> {
  const digest = createHash("sha256");
  const resources = set.toArray();
  for (let from = 0; from < resources.length; from += sliceNames) {
    digest.update(textOf(resources.slice(from, from + sliceNames)));
    yield 0;
  }
  return digest.digest("base64url").slice(0, versionLength);
}

function textOf(resources: Iterable<Pick<Resource, "name" | "version">>): string {
  let text = "";
  for (const { name, version } of resources) text += `${name}\0${version}\0`;
  return text;
}
