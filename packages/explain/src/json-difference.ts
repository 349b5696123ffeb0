/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A difference between two JSON values at one path. */
export interface JsonDifference {
  /** Field names and list indexes, each after a `/`; `[name]` for an element of a list whose elements have names. */
  readonly path: string;
  /**
   * `missing`: only in the first value. `extra`: only in the second. `order`: a list with the same elements reordered.
   */
  readonly kind: "missing" | "extra" | "different" | "order";
  readonly expected?: Json | undefined;
  readonly actual?: Json | undefined;
}

/** Compares two JSON values. List elements are matched by `name` if all have distinct names, else by index. */
export function jsonDifferences(expected: Json | undefined, actual: Json | undefined, path = ""): JsonDifference[] {
  if (JSON.stringify(expected) === JSON.stringify(actual)) return [];
  if (expected === undefined) return [{ path, kind: "extra", actual }];
  if (actual === undefined) return [{ path, kind: "missing", expected }];
  if (Array.isArray(expected) && Array.isArray(actual)) return listDifferences(expected, actual, path);
  if (isJsonObject(expected) && isJsonObject(actual)) {
    const keys = [...new Set([...Object.keys(expected), ...Object.keys(actual)])];
    return keys.flatMap((key) => jsonDifferences(expected[key], actual[key], `${path}/${key}`));
  }
  return [{ path, kind: "different", expected, actual }];
}

/** Reports whether a value is a JSON object. */
export function isJsonObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function listDifferences(expected: Json[], actual: Json[], path: string): JsonDifference[] {
  const a = elementsByName(expected);
  const b = elementsByName(actual);
  if (!a || !b) {
    const count = Math.max(expected.length, actual.length);
    return Array.from({ length: count }, (_, i) => jsonDifferences(expected[i], actual[i], `${path}/${i}`)).flat();
  }
  const keys = [...new Set([...a.keys(), ...b.keys()])];
  const found = keys.flatMap((key) => jsonDifferences(a.get(key), b.get(key), `${path}/[${key}]`));
  return found.length > 0 ? found : [{ path, kind: "order", expected: [...a.keys()], actual: [...b.keys()] }];
}

function elementsByName(list: Json[]): Map<string, Json> | undefined {
  const out = new Map<string, Json>();
  for (const value of list) {
    if (!isJsonObject(value) || typeof value["name"] !== "string" || out.has(value["name"])) return undefined;
    out.set(value["name"], value);
  }
  return out;
}
