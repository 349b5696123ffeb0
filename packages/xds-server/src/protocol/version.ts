import { hash } from "node:crypto";
import type { Resource, ResourceSet } from "@istiod/resources";
import type { Digest } from "../wire/digest.js";

const known = new WeakMap<ResourceSet, string>();

/**
 * Returns the version of a type as a whole, for `version_info` and `system_version_info`: a hash of the names and
 * versions of the set and of subscribed resources outside the set.
 */
export function versionOf(set: ResourceSet, outside: Digest): string {
  const version = versionOfSet(set);
  return outside.size === 0 ? version : digest([{ name: outside.toString(), version }]);
}

/** Computes the version of a union from its parts' versions, so that shared parts are hashed once. */
function versionOfSet(set: ResourceSet): string {
  let version = known.get(set);
  if (version === undefined) {
    version = digest(set.isUnion ? set.parts.map((part) => ({ name: "", version: versionOfSet(part) })) : set);
    known.set(set, version);
  }
  return version;
}

function digest(resources: Iterable<Pick<Resource, "name" | "version">>): string {
  let text = "";
  for (const { name, version } of resources) text += `${name}\0${version}\0`;
  return hash("sha256", text, "base64url").slice(0, 16);
}
