import { asObject, type JsonObject } from "./json.js";
import { type FieldType, structOf } from "./types.js";

/**
 * Returns the JSON text that Go writes for a decoded object: the fields of structs in order, the keys of maps sorted,
 * and `<`, `>` and `&` escaped.
 */
export const encodeStruct = (name: string, object: JsonObject): string => encodeValue({ kind: "struct", name }, object);

/** Returns JSON text as Go writes it; the keys of objects are sorted. */
export const encodeAny = (value: unknown): string => encodeValue({ kind: "scalar", name: "any" }, value);

function encodeValue(type: FieldType, value: unknown): string {
  if (value === null || value === undefined) return "null";
  switch (type.kind) {
    case "pointer":
      return encodeValue(type.element, value);
    case "struct":
      return encodeFields(type.name, value as JsonObject);
    case "list":
      return encodeList(type.element, value as readonly unknown[]);
    case "map":
      return encodeMap(type.element, value as JsonObject);
    case "scalar": {
      if (Array.isArray(value)) return encodeList(type, value);
      const object = asObject(value);
      return object === undefined ? encodeScalar(value) : encodeMap(type, object);
    }
  }
}

function encodeFields(name: string, object: JsonObject): string {
  const { byJsonName } = structOf(name);
  const any: FieldType = { kind: "scalar", name: "any" };
  const members = Object.entries(object).map(
    ([key, value]) => `${encodeScalar(key)}:${encodeValue(byJsonName.get(key)?.type ?? any, value)}`,
  );
  return `{${members.join(",")}}`;
}

const encodeList = (element: FieldType, items: readonly unknown[]): string =>
  `[${items.map((item) => encodeValue(element, item)).join(",")}]`;

function encodeMap(element: FieldType, object: JsonObject): string {
  const keys = Object.keys(object).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return `{${keys.map((key) => `${encodeScalar(key)}:${encodeValue(element, object[key])}`).join(",")}}`;
}

function encodeScalar(value: unknown): string {
  return (JSON.stringify(value) ?? "null").replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
