import type { JsonValue } from "@bufbuild/protobuf";
import type { Access } from "./access.js";
import type { Attribute } from "./attribute.js";
import { isPathTemplate, matchesTemplate } from "./path-template.js";
import { matchesValue } from "./patterns.js";

export const host: Attribute = {
  httpOnly: true,
  actual: ({ http }) => http?.authority ?? "",
  matches: (value, { http }) => http !== undefined && matchesHeader(value, http.authority, true),
};

export const method: Attribute = {
  httpOnly: true,
  actual: ({ http }) => http?.method ?? "",
  matches: (value, { http }) => http !== undefined && matchesHeader(value, http.method),
};

export const path: Attribute = {
  httpOnly: true,
  actual: (access) => pathOf(access) ?? "",
  matches: (value, access) => {
    const actual = pathOf(access);
    if (actual === undefined) return false;
    return isPathTemplate(value) ? matchesTemplate(value, actual) : matchesValue(value, actual);
  },
};

/** Returns the path without query and fragment. */
function pathOf({ http }: Access): string | undefined {
  return http?.path.replace(/[?#].*$/s, "");
}

export const destinationPort: Attribute = {
  actual: ({ destinationPort: port }) => String(port),
  unusable: (value) =>
    /^\d+$/.test(value) && Number(value) <= 65535 ? undefined : `${JSON.stringify(value)} is not a port`,
  matches: (value, { destinationPort: port }) => Number(value) === port,
};

export const sni: Attribute = {
  actual: (access) => access.sni,
  matches: (value, access) => matchesValue(value, access.sni),
};

/** Returns the attribute of a header. Each value of a repeated header is compared by itself. */
export function requestHeader(name: string): Attribute {
  return {
    httpOnly: true,
    actual: (access) => {
      const found = headersOf(access, name);
      return found.length === 0 ? "no such header" : found.join(" | ");
    },
    matches: (value, access) => headersOf(access, name).some((actual) => matchesHeader(value, actual)),
  };
}

/** Unlike in other attributes, `*` requires presence only. */
function matchesHeader(value: string, actual: string, ignoreCase = false): boolean {
  return value === "*" || matchesValue(value, actual, ignoreCase);
}

function headersOf({ http }: Access, name: string): readonly string[] {
  const wanted = name.toLowerCase();
  if (http === undefined) return [];
  if (wanted === ":authority" || wanted === "host") return [http.authority];
  if (wanted === ":method") return [http.method];
  if (wanted === ":path") return [http.path];
  return http.headers.flatMap(([key, value]) => (key.toLowerCase() === wanted ? [value] : []));
}

/** Returns the attribute of a claim, possibly nested. A list matches if one of its elements does. */
export function claim(keys: readonly string[]): Attribute {
  const of = ({ claims }: Access): JsonValue | undefined => at(claims, keys);
  return {
    httpOnly: true,
    joined: true,
    actual: (access) => {
      if (access.claims === undefined) return "no valid token";
      const found = of(access);
      return found === undefined ? "no such claim" : JSON.stringify(found);
    },
    matches: (value, access) => {
      const found = of(access);
      return (Array.isArray(found) ? found : [found]).some(
        (each) => typeof each === "string" && matchesValue(value, each),
      );
    },
  };
}

function at(value: JsonValue | undefined, keys: readonly string[]): JsonValue | undefined {
  return keys.reduce<JsonValue | undefined>(
    (found, key) =>
      found !== null && typeof found === "object" && !Array.isArray(found) && Object.hasOwn(found, key)
        ? found[key]
        : undefined,
    value,
  );
}

/** Returns the attribute of another filter's metadata. A value in brackets matches an element of a list. */
export function filterMetadata(filter: string, key: string): Attribute {
  const of = ({ filterMetadata: metadata }: Access): JsonValue | undefined => metadata[filter]?.[key];
  return {
    joined: true,
    actual: (access) => {
      const found = of(access);
      return found === undefined ? "no such metadata" : JSON.stringify(found);
    },
    matches: (value, access) => {
      const found = of(access);
      if (!(value.startsWith("[") && value.endsWith("]")))
        return typeof found === "string" && matchesValue(value, found);
      const wanted = value.replace(/^[[\]]+|[[\]]+$/g, "");
      return Array.isArray(found) && found.some((each) => typeof each === "string" && matchesValue(wanted, each));
    },
  };
}
