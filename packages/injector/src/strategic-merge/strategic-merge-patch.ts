import { InjectorError } from "../errors.js";
import { asObject, copyJson, type JsonObject } from "../go-types/json.js";
import type { FieldType } from "../go-types/types.js";
import { discardNulls, extractKey, patchMarker, retainKeys, withoutDirectives } from "./directives.js";
import { type ListPolicy, mergeLists, mergeOrderedLists } from "./merge-lists.js";
import { fieldPolicy } from "./policy.js";

/** Prefixes of the directives that belong to a list beside them. */
const deletionPrefix = "$deleteFromPrimitiveList";
const orderPrefix = "$setElementOrder";

/**
 * Applies a strategic merge patch to an object and returns the result. A null deletes a field, a list of structs with a
 * merge key is merged by it, other lists are replaced; the directives `$patch`, `$retainKeys`,
 * `$deleteFromPrimitiveList/…` and `$setElementOrder/…` are followed (k8s.io/apimachinery, `strategicpatch`). The
 * arguments are not changed.
 *
 * @param structName Go's name of the object's type, such as `Pod`
 * @throws InjectorError `patch` if the patch does not fit the type, or a directive is malformed
 */
export function applyStrategicMergePatch(structName: string, original: JsonObject, patch: JsonObject): JsonObject {
  return mergeObjects(copyJson(original), copyJson(patch), { kind: "struct", name: structName });
}

/** Merges a patch into an object, both of which it may change. */
function mergeObjects(original: JsonObject, patch: JsonObject, type: FieldType): JsonObject {
  if (patchMarker in patch) return followMarker(patch);
  applyRetainKeys(original, patch);
  applyElementOrders(original, patch, type);
  for (const [name, value] of Object.entries(patch)) {
    const deletes = name.startsWith(deletionPrefix);
    const key = deletes ? extractKey(name, deletionPrefix) : name;
    if (value === null) {
      delete original[key];
      continue;
    }
    const present = original[key];
    if (key in original && jsonKind(present) === jsonKind(value) && typeof value === "object") {
      original[key] = mergeField(present, value, type, key, deletes);
    } else if (!deletes) {
      discardNulls(value);
      const kept = withoutDirectives(value);
      if (kept === undefined) delete original[key];
      else original[key] = kept;
    }
  }
  return original;
}

function followMarker(patch: JsonObject): JsonObject {
  const directive = patch[patchMarker];
  if (directive === "delete") return copyJson({}) as JsonObject;
  if (directive !== "replace")
    throw new InjectorError("patch", `${patchMarker} is ${JSON.stringify(directive)}, expected replace or delete`);
  delete patch[patchMarker];
  return patch;
}

function mergeField(present: unknown, value: unknown, type: FieldType, key: string, deletes: boolean): unknown {
  const { element, merges, replaces } = fieldPolicy(type, key);
  if (!Array.isArray(value))
    return replaces ? value : mergeObjects(present as JsonObject, value as JsonObject, element);
  const list = present as unknown[];
  if (!merges && !deletes) return value;
  return mergeLists(list, value, listPolicy(type, key, deletes));
}

/** Removes the fields that a patch does not retain. */
function applyRetainKeys(original: JsonObject, patch: JsonObject): void {
  if (!(retainKeys in patch)) return;
  const retained = patch[retainKeys];
  delete patch[retainKeys];
  if (!Array.isArray(retained)) throw new InjectorError("patch", `${retainKeys} is no list of names`);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || key.startsWith(deletionPrefix) || key.startsWith(orderPrefix)) continue;
    if (!retained.includes(key))
      throw new InjectorError("patch", `${retainKeys} lacks ${key}, which the patch sets beside it`);
  }
  for (const key of Object.keys(original)) if (!retained.includes(key)) delete original[key];
}

/** Merges the lists for which a patch sets the order, and removes them from it. */
function applyElementOrders(original: JsonObject, patch: JsonObject, type: FieldType): void {
  for (const [name, order] of Object.entries(patch)) {
    if (!name.startsWith(orderPrefix)) continue;
    delete patch[name];
    const key = extractKey(name, orderPrefix);
    if (!Array.isArray(order)) throw new InjectorError("patch", `${name} is no list`);
    const lists = { original: listAt(original, key), patch: listAt(patch, key), order };
    const merged = mergeOrderedLists(lists, listPolicy(type, key, false), fieldPolicy(type, key).merges);
    if (merged !== undefined) original[key] = merged;
    delete patch[key];
  }
}

function listPolicy(type: FieldType, key: string, deletes: boolean): ListPolicy {
  const { element, mergeKey } = fieldPolicy(type, key);
  return { mergeElement: (original, change) => mergeObjects(original, change, element), mergeKey, deletes, place: key };
}

function listAt(object: JsonObject, key: string): unknown[] | undefined {
  if (!(key in object)) return undefined;
  const value = object[key];
  if (!Array.isArray(value)) throw new InjectorError("patch", `${key} is no list, but ${orderPrefix} names it`);
  return value;
}

/** Returns the kind by which a patch and an original are compared: those of different kinds replace each other. */
const jsonKind = (value: unknown): string =>
  Array.isArray(value) ? "list" : asObject(value) ? "object" : typeof value;
