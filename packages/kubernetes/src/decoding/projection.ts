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
function mergeFields(a: FieldTree, b: FieldTree): FieldTree {
  if (a === true || b === true) return true;
  const merged: Record<string, FieldTree> = { ...a };
  for (const [name, tree] of Object.entries(b)) {
    const other = Object.hasOwn(merged, name) ? merged[name] : undefined;
    merged[name] = other === undefined ? tree : mergeFields(other, tree);
  }
  return merged;
}

/** The fields that identify an object and its version. */
const identityFields: FieldTree = {
  metadata: { name: true, namespace: true, uid: true, resourceVersion: true },
};

/**
 * Returns the fields to decode for a projection: with those that identify an object, without `apiVersion` and `kind`,
 * which the reflector knows. Removing these later would turn each object into a slow one.
 */
export function contentFields(fields: FieldTree): FieldTree {
  const merged = mergeFields(fields, identityFields);
  if (merged === true) return true;
  const { apiVersion: _apiVersion, kind: _kind, ...content } = merged;
  return content;
}
