import type { Kind } from "./kind.js";
import type { FieldSelection, SelectedFields } from "./selected-fields.js";

export interface FieldsOfOptions {
  /** Adds what a writer of the object needs: owner references, finalizers and the whole status. Default false. */
  readonly forWriting?: boolean;
}

/** Metadata of which every kind reads parts, and what identifies an object's version. */
const commonMetadata: SelectedFields = {
  name: true,
  namespace: true,
  labels: true,
  annotations: true,
  creationTimestamp: true,
  uid: true,
  resourceVersion: true,
  generation: true,
};

const conditionFields: SelectedFields = { type: true, status: true, reason: true, message: true };
const statusConditions: SelectedFields = {
  conditions: conditionFields,
  parents: { controllerName: true, conditions: conditionFields },
};

/**
 * Returns the fields of a kind's objects that decoding reads, and those that identify their versions. Decoding an
 * object of these fields alone gives what decoding the whole object gives.
 */
export function fieldsOf(kind: Kind, { forWriting = false }: FieldsOfOptions = {}): SelectedFields {
  const read = union(kind.fields, { apiVersion: true, kind: true, metadata: commonMetadata });
  const withConditions = kind.conditions === undefined ? read : union(read, { status: statusConditions });
  if (!forWriting) return withConditions;
  const metadata = { ownerReferences: true, finalizers: true, deletionTimestamp: true } as const;
  return union(withConditions, { metadata, status: true });
}

function union(one: SelectedFields, other: SelectedFields): SelectedFields {
  const merged: Record<string, FieldSelection> = { ...one };
  for (const [name, added] of Object.entries(other)) {
    const before = Object.hasOwn(merged, name) ? merged[name] : undefined;
    merged[name] = before === undefined ? added : before === true || added === true ? true : union(before, added);
  }
  return merged;
}
