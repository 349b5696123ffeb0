import { fromJson, isMessage, type JsonValue, toJson } from "@bufbuild/protobuf";
import { isJsonObject, type Json } from "./json-difference.js";
import { messageRegistry } from "./resource-types.js";

/** A value that can be tried without some of its fields. */
export interface Trial {
  /** The fields directly below a path. */
  below(path: readonly (string | number)[]): readonly (readonly (string | number)[])[];
  /**
   * The value without the field: a field of a message is unset, an element removed, a plain value emptied. Undefined
   * where that gives no value.
   */
  without(path: readonly (string | number)[]): unknown;
}

/** What of an input can be left out to see whether it mattered. An object's identity stays. */
export function trialOf(value: unknown): Trial {
  const plain = toPlain(value);
  return {
    below: (path) => below(plain, path).map((key) => [...path, key]),
    without: (path) => {
      const copy = structuredClone(plain) as Json;
      return remove(copy, path, isOptional(value, path)) ? fromPlain(value, copy) : undefined;
    },
  };
}

/** `spec.http[0].route[1].weight`. */
export function formatFieldPath(path: readonly (string | number)[]): string {
  return path
    .map((part, i) =>
      typeof part === "number" ? `[${part}]` : /^[\w-]+$/.test(part) ? `${i === 0 ? "" : "."}${part}` : `["${part}"]`,
    )
    .join("");
}

const identity = ["kind", "namespace", "name", "cluster"];

function below(root: Json, path: readonly (string | number)[]): readonly (string | number)[] {
  let at: Json | undefined = root;
  for (const part of path) at = Array.isArray(at) ? at[part as number] : isJsonObject(at) ? at[part] : undefined;
  if (Array.isArray(at)) return at.map((_, i) => i);
  if (!isJsonObject(at)) return [];
  return Object.keys(at).filter((key) => path.length > 0 || !identity.includes(key));
}

/** Values with messages as JSON inside. */
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

/** The same with messages where the original has them. */
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

/**
 * Whether a field may be absent: those of messages may, and keys of labels and annotations; others have a value that
 * says nothing.
 */
function isOptional(original: unknown, path: readonly (string | number)[]): boolean {
  if (path[0] === "labels" || path[0] === "annotations") return path.length > 1;
  let at: unknown = original;
  for (const part of path) {
    if (isMessage(at)) return true;
    at = (at as Record<string | number, unknown> | undefined)?.[part];
  }
  return false;
}

function blank(value: Json | undefined): Json {
  if (Array.isArray(value)) return [];
  if (typeof value === "boolean") return !value;
  return isJsonObject(value) ? {} : typeof value === "number" ? 0 : "";
}

function remove(root: Json, path: readonly (string | number)[], optional: boolean): boolean {
  let at: Json | undefined = root;
  for (const part of path.slice(0, -1))
    at = Array.isArray(at) ? at[part as number] : isJsonObject(at) ? at[part] : undefined;
  const last = path.at(-1);
  if (Array.isArray(at) && typeof last === "number") {
    at.splice(last, 1);
    return true;
  }
  if (!isJsonObject(at) || last === undefined || typeof last === "number") return false;
  if (optional) delete at[last];
  else at[last] = blank(at[last]);
  return true;
}
