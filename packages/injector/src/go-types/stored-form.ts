import { asObject, type JsonObject, jsonObject } from "./json.js";
import { canonicalQuantity } from "./quantity.js";
import { type FieldType, structOf } from "./types.js";

/** Defaults of fields in values that API servers own and compare as a whole. */
const defaults: Readonly<Record<string, JsonObject>> = {
  ObjectFieldSelector: { apiVersion: "v1" },
  ResourceFieldSelector: { divisor: "0" },
  ServiceAccountTokenProjection: { expirationSeconds: 3600 },
};

/**
 * Returns an object in the form in which API servers store it: quantities are canonical, as `1` for `1000m`, and values
 * that are replaced as a whole have their defaults. Everything else is as it was.
 *
 * @param structName Go's name of the object's type, such as `Deployment`
 */
export function storedForm(structName: string, object: JsonObject): JsonObject {
  return stored({ kind: "struct", name: structName }, object) as JsonObject;
}

function stored(type: FieldType, value: unknown): unknown {
  if (value === null || value === undefined) return value;
  switch (type.kind) {
    case "pointer":
      return stored(type.element, value);
    case "list":
      return Array.isArray(value) ? value.map((item) => stored(type.element, item)) : value;
    case "map":
      return mapped(value, () => type.element);
    case "struct": {
      const { byJsonName } = structOf(type.name);
      const withDefaults = { ...defaults[type.name], ...(value as object) };
      return mapped(withDefaults, (key) => byJsonName.get(key)?.type);
    }
    case "scalar":
      if (type.name !== "Quantity") return value;
      return canonicalQuantity(String(value)) ?? value;
  }
}

function mapped(value: unknown, typeOf: (key: string) => FieldType | undefined): unknown {
  const object = asObject(value);
  if (object === undefined) return value;
  const entries = Object.entries(object).map(([key, item]) => {
    const type = typeOf(key);
    return [key, type === undefined ? item : stored(type, item)] as const;
  });
  return jsonObject(entries);
}
