import type { Resource, ResourceSet } from "@istiod/resources";
import { encodeStringField } from "../encoding/encode.js";

const known = new WeakMap<ResourceSet, readonly string[]>();

/** Names of the assignments in a set of them that have no endpoint. What sets have in common is looked at once. */
export function emptyAssignments(set: ResourceSet): readonly string[] {
  let names = known.get(set);
  if (names === undefined) {
    names = set.isUnion
      ? set.parts.flatMap(emptyAssignments)
      : set
          .toArray()
          .filter(isEmpty)
          .map(({ name }) => name);
    known.set(set, names);
  }
  return names;
}

/** One that says nothing but its name, which is its first field. */
function isEmpty({ name, bytes }: Resource): boolean {
  return bytes.length === encodeStringField(1, name).length;
}
