import { StatusError } from "../http/status-error.js";
import { isJsonObject, type JsonObject, setField } from "../storage/object.js";
import { type FieldSchema, itemKey } from "./field-schema.js";

/** Returns a value after a JSON merge patch (RFC 7386). */
export function mergePatch(value: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  const result: JsonObject = isJsonObject(value) ? { ...value } : {};
  for (const [name, item] of Object.entries(patch)) {
    if (item === null) delete result[name];
    else setField(result, name, mergePatch(Object.hasOwn(result, name) ? result[name] : undefined, item));
  }
  return result;
}

/**
 * Returns a value after a strategic merge patch: maps are merged, lists with keys are merged by key, other lists are
 * replaced. Understands `$patch: delete` and `$patch: replace`.
 *
 * @throws StatusError 415 for other directives
 */
export function strategicMergePatch(value: unknown, patch: unknown, schema: FieldSchema): unknown {
  if (Array.isArray(patch)) return mergeList(Array.isArray(value) ? value : [], patch, schema);
  if (!isJsonObject(patch)) return patch;
  const { $patch: directive, ...fields } = patch;
  if (directive === "replace") return fields;
  if (directive === "delete") return {};
  if (directive !== undefined && directive !== "merge") throw unsupported(`$patch: ${String(directive)}`);
  const result: JsonObject = isJsonObject(value) ? { ...value } : {};
  for (const [name, item] of Object.entries(fields)) {
    if (name.startsWith("$")) throw unsupported(name);
    const current = Object.hasOwn(result, name) ? result[name] : undefined;
    if (item === null) delete result[name];
    else setField(result, name, strategicMergePatch(current, item, schema.field(name)));
  }
  return result;
}

function mergeList(current: readonly unknown[], patch: readonly unknown[], schema: FieldSchema): unknown {
  const { list } = schema;
  if (list === "atomic") return patch;
  if (list === "set") return [...current, ...patch.filter((item) => !current.includes(item))];
  const replaces = patch.some((item) => isJsonObject(item) && item.$patch === "replace");
  if (replaces) return patch.filter((item) => !isJsonObject(item) || item.$patch !== "replace");
  const merged = new Map(current.map((item, at) => [itemKey(item, list) ?? `#${at}`, item]));
  for (const item of patch) {
    const key = itemKey(item, list);
    if (key === undefined) throw unsupported(`item without the key ${list.map(({ name }) => name).join()}`);
    if (isJsonObject(item) && item.$patch === "delete") merged.delete(key);
    else merged.set(key, strategicMergePatch(merged.get(key), item, schema.item()));
  }
  return [...merged.values()];
}

const unsupported = (what: string): StatusError =>
  new StatusError(415, "UnsupportedMediaType", `strategic merge patch: not supported by the in-memory server: ${what}`);
