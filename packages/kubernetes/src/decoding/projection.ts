/**
 * The fields of an object to decode: `true` for everything, or the fields by name. A tree applies to the elements of an
 * array as to a single value.
 */
export type FieldTree = true | { readonly [field: string]: FieldTree };

/**
 * The fields of a type's objects to decode. `metadata.name`, `namespace`, `uid` and `resourceVersion` are always
 * decoded.
 */
export interface Projection {
  readonly fields: FieldTree;
}

/** Returns the union of two trees. */
export function mergeFields(a: FieldTree, b: FieldTree): FieldTree {
  if (a === true || b === true) return true;
  const merged: Record<string, FieldTree> = { ...a };
  for (const [name, tree] of Object.entries(b)) {
    const other = Object.hasOwn(merged, name) ? merged[name] : undefined;
    merged[name] = other === undefined ? tree : mergeFields(other, tree);
  }
  return merged;
}

/** The fields that identify an object and its version. */
export const identityFields: FieldTree = {
  metadata: { name: true, namespace: true, uid: true, resourceVersion: true },
};
