import { InjectorError } from "../errors.js";
import { asObject, type JsonObject } from "../go-types/json.js";

/** Directive of an object: `replace`, `delete`, or in a list `merge`. */
export const patchMarker = "$patch";
/** Directive that lists the fields that stay. */
export const retainKeys = "$retainKeys";

/** Returns the name of the list that a directive `prefix/name` is about. */
export function extractKey(name: string, prefix: string): string {
  if (!name.startsWith(`${prefix}/`))
    throw new InjectorError("patch", `${name}: expected ${prefix}/ and a list's name`);
  return name.slice(prefix.length + 1);
}

/** Removes the nulls of a value from the objects in it. */
export function discardNulls(value: unknown): void {
  if (Array.isArray(value)) return value.forEach(discardNulls);
  const object = asObject(value);
  if (object === undefined) return;
  for (const [key, item] of Object.entries(object)) {
    if (item === null) delete object[key];
    else discardNulls(item);
  }
}

/** Returns a value without objects that are directives; undefined if it is one. */
export function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined);
  const object = asObject(value);
  if (object === undefined) return value;
  if (patchMarker in object) return undefined;
  for (const [key, item] of Object.entries(object)) {
    const kept = withoutDirectives(item);
    if (kept === undefined) delete object[key];
    else object[key] = kept;
  }
  return object;
}

/** Returns an element of a list that is merged by a key as an object that has it. */
export function keyedElement(item: unknown, mergeKey: string, place: string): JsonObject {
  const object = asObject(item);
  if (object === undefined) throw new InjectorError("patch", `${place}: has an element that is no object`);
  if (!(mergeKey in object)) throw new InjectorError("patch", `${place}: has an element without ${mergeKey}`);
  return object;
}
