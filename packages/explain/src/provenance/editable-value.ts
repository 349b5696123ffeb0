import { fromJson, isMessage, type JsonValue, toJson } from "@bufbuild/protobuf";
import { isJsonObject, type Json } from "../json-difference.js";
import { messageRegistry } from "../resource-types.js";

/** Names of fields and indexes of list elements, from the root. */
export type FieldPath = readonly (string | number)[];

/** A value that can be copied without one of its fields. */
export interface EditableValue {
  /** Returns the paths directly below a path. Excludes the fields that identify an object. */
  fieldsBelow(path: FieldPath): readonly FieldPath[];
  /**
   * Returns a copy without a field. Optional fields are unset, list elements are removed, and required fields get the
   * zero value of their type (booleans are negated). Undefined if the path does not exist.
   */
  without(path: FieldPath): unknown;
}

/** Returns an editable view of an input's value, which may hold protobuf messages. */
export function editableValue(value: unknown): EditableValue {
  const plain = toPlain(value);
  return {
    fieldsBelow: (path) => keysBelow(plain, path).map((key) => [...path, key]),
    without: (path) => {
      const copy = structuredClone(plain) as Json;
      return removeField(copy, path, isOptional(value, path)) ? fromPlain(value, copy) : undefined;
    },
  };
}

/** Formats a path as in `spec.http[0].route[1].weight`. */
export function formatFieldPath(path: FieldPath): string {
  return path
    .map((part, i) =>
      typeof part === "number" ? `[${part}]` : /^[\w-]+$/.test(part) ? `${i === 0 ? "" : "."}${part}` : `["${part}"]`,
    )
    .join("");
}

const identityFields = ["kind", "namespace", "name", "cluster"];

function keysBelow(root: Json, path: FieldPath): readonly (string | number)[] {
  const parent = jsonAt(root, path);
  if (Array.isArray(parent)) return parent.map((_, i) => i);
  if (!isJsonObject(parent)) return [];
  return Object.keys(parent).filter((key) => path.length > 0 || !identityFields.includes(key));
}

function jsonAt(root: Json, path: FieldPath): Json | undefined {
  let json: Json | undefined = root;
  for (const part of path)
    json = Array.isArray(json) ? json[part as number] : isJsonObject(json) ? json[part] : undefined;
  return json;
}

/** Converts a value to JSON, including the messages in it. */
function toPlain(value: unknown): Json {
  if (isMessage(value)) {
    const schema = messageRegistry().getMessage(value.$typeName);
    return schema === undefined ? {} : (toJson(schema, value, { registry: messageRegistry() }) as Json);
  }
  if (Array.isArray(value)) return value.map(toPlain);
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(
      Object.entries(value)
        .filter(([, v]) => v !== undefined)
        .map(([key, v]) => [key, toPlain(v)]),
    );
  return value as Json;
}

/** Converts JSON back, with messages in the places where the original has them. */
function fromPlain(original: unknown, plain: Json | undefined): unknown {
  if (isMessage(original)) {
    const schema = messageRegistry().getMessage(original.$typeName);
    return schema && fromJson(schema, (plain ?? {}) as JsonValue, { registry: messageRegistry() });
  }
  if (isJsonObject(plain) && typeof original === "object" && original !== null) {
    return Object.fromEntries(
      Object.entries(plain).map(([key, v]) => [key, fromPlain((original as Record<string, unknown>)[key], v)]),
    );
  }
  return plain;
}

/** Reports whether a field may be absent: fields of messages, and single labels and annotations. */
function isOptional(original: unknown, path: FieldPath): boolean {
  if (path[0] === "labels" || path[0] === "annotations") return path.length > 1;
  let value: unknown = original;
  for (const part of path) {
    if (isMessage(value)) return true;
    value = (value as Record<string | number, unknown> | undefined)?.[part];
  }
  return false;
}

/** Removes a field in place. Returns false if the path does not exist. */
function removeField(root: Json, path: FieldPath, optional: boolean): boolean {
  const parent = jsonAt(root, path.slice(0, -1));
  const last = path.at(-1);
  if (Array.isArray(parent) && typeof last === "number") {
    parent.splice(last, 1);
    return true;
  }
  if (!isJsonObject(parent) || last === undefined || typeof last === "number") return false;
  if (optional) delete parent[last];
  else parent[last] = emptied(parent[last]);
  return true;
}

function emptied(value: Json | undefined): Json {
  if (Array.isArray(value)) return [];
  if (typeof value === "boolean") return !value;
  return isJsonObject(value) ? {} : typeof value === "number" ? 0 : "";
}
