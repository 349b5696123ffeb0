import { encodeStringField } from "@istiod/protobuf-wire";
import type { Resource, ResourceSet } from "@istiod/resources";

const known = new WeakMap<ResourceSet, readonly string[]>();

/** Returns the names of load assignments without endpoints. Shared parts of sets are inspected once. */
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

/** Reports whether an assignment consists only of its name, the first field. */
function isEmpty({ name, bytes }: Resource): boolean {
  return bytes.length === encodeStringField(1, name).length;
}
