/** JSON as it comes from a file or a message. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** One place where two values differ. Kind `order` says that a list holds the same in another order. */
export interface JsonDifference {
  /** Names of fields and positions, each after a `/`; `[name]` for an element of a list whose elements have names. */
  readonly path: string;
  /** `missing`: only the first has it; `extra`: only the second. */
  readonly kind: "missing" | "extra" | "different" | "order";
  readonly expected?: Json | undefined;
  readonly actual?: Json | undefined;
}

/** Where two values differ; elements of lists are matched by name where they all have one, else by position. */
export function jsonDifferences(expected: Json | undefined, actual: Json | undefined, path = ""): JsonDifference[] {
  if (JSON.stringify(expected) === JSON.stringify(actual)) return [];
  if (expected === undefined) return [{ path, kind: "extra", actual }];
  if (actual === undefined) return [{ path, kind: "missing", expected }];
  if (Array.isArray(expected) && Array.isArray(actual)) return inLists(expected, actual, path);
  if (isJsonObject(expected) && isJsonObject(actual)) {
    const keys = [...new Set([...Object.keys(expected), ...Object.keys(actual)])];
    return keys.flatMap((key) => jsonDifferences(expected[key], actual[key], `${path}/${key}`));
  }
  return [{ path, kind: "different", expected, actual }];
}

export function isJsonObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function inLists(expected: Json[], actual: Json[], path: string): JsonDifference[] {
  const a = named(expected);
  const b = named(actual);
  if (!a || !b) {
    const count = Math.max(expected.length, actual.length);
    return Array.from({ length: count }, (_, i) => jsonDifferences(expected[i], actual[i], `${path}/${i}`)).flat();
  }
  const keys = [...new Set([...a.keys(), ...b.keys()])];
  const found = keys.flatMap((key) => jsonDifferences(a.get(key), b.get(key), `${path}/[${key}]`));
  return found.length > 0 ? found : [{ path, kind: "order", expected: [...a.keys()], actual: [...b.keys()] }];
}

function named(list: Json[]): Map<string, Json> | undefined {
  const out = new Map<string, Json>();
  for (const value of list) {
    if (!isJsonObject(value) || typeof value["name"] !== "string" || out.has(value["name"])) return undefined;
    out.set(value["name"], value);
  }
  return out;
}
