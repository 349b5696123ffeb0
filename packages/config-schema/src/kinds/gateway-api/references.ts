import type { Fields } from "../../decoding/fields.js";
import { expectedLabel, expectedSubdomain } from "../../validation/kubernetes/fields.js";
import { isLowerCaseLabel, isSubdomain } from "../../validation/kubernetes/names.js";
import { kindName, objectName, warnOfOthers } from "./field-rules.js";
import { optionalChecked, requiredString } from "./checked-fields.js";

/** A reference to an object. Absent fields have defaults that depend on where the reference is. */
export interface ObjectReference {
  /** Empty for Kubernetes' core group. */
  readonly group?: string;
  readonly kind?: string;
  readonly name: string;
  /** Absent: the namespace of the object that refers. */
  readonly namespace?: string;
}

/** A reference to an object of the same namespace by its group, kind and name. */
export interface LocalReference {
  /** Empty for Kubernetes' core group. */
  readonly group: string;
  readonly kind: string;
  readonly name: string;
}

/** A reference to an object by its group, kind and name. */
export interface FullReference extends LocalReference {
  /** Absent: the namespace of the object that refers. */
  readonly namespace?: string;
}

const isGroup = isSubdomain;
const expectedGroup = `an API group: ${expectedSubdomain}`;
const expectedKind = "a kind: at most 63 letters, digits and inner hyphens";

/**
 * Decodes a reference whose group, kind and namespace have defaults.
 *
 * @param others names of further fields, which are not decoded
 */
export function decodeReference(fields: Fields, others: readonly string[] = []): ObjectReference {
  warnOfOthers(fields, ["group", "kind", "name", "namespace", ...others]);
  return {
    ...(fields.has("group") && { group: groupOf(fields) }),
    ...optionalChecked(fields, "kind", kindName.isValid, expectedKind),
    name: requiredString(fields, "name", objectName.isValid, objectName.expected),
    ...optionalChecked(fields, "namespace", isLowerCaseLabel, expectedLabel),
  };
}

/** Decodes a reference to an object of the same namespace. */
export function decodeLocalReference(fields: Fields): LocalReference {
  return {
    group: groupOf(fields),
    kind: requiredString(fields, "kind", kindName.isValid, expectedKind),
    name: requiredString(fields, "name", objectName.isValid, objectName.expected),
  };
}

/** Decodes a reference whose group and kind are required. */
export function decodeFullReference(fields: Fields): FullReference {
  return { ...decodeLocalReference(fields), ...optionalChecked(fields, "namespace", isLowerCaseLabel, expectedLabel) };
}

/** A group and a kind. */
export interface GroupKind {
  /** Empty for Kubernetes' core group. */
  readonly group: string;
  readonly kind: string;
}

/** Decodes a group and a kind. */
export function decodeGroupKind(fields: Fields, defaultGroup = ""): GroupKind {
  return {
    group: fields.has("group") ? groupOf(fields) : defaultGroup,
    kind: requiredString(fields, "kind", kindName.isValid, expectedKind),
  };
}

function groupOf(fields: Fields): string {
  const group = fields.string("group");
  if (group !== "" && !isGroup(group)) fields.fault(["group"], group, expectedGroup);
  return group;
}

/** Returns `namespace/kind/name` of the objects of a namespace that references name, each once. */
export function targetKeys(refs: readonly LocalReference[], namespace: string): readonly string[] {
  return [...new Set(refs.map(({ kind, name }) => `${namespace}/${kind}/${name}`))];
}
