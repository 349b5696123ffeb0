import { asObject, type JsonObject, jsonObject } from "./json.js";
import { canonicalQuantity } from "./quantity.js";
import { type FieldType, structOf } from "./types.js";

/**
 * Returns an object with its quantities in canonical form, as API servers store them: `1000m` is `1`. Everything else
 * is as it was, also fields of other types than the struct's.
 *
 * @param structName Go's name of the object's type, such as `Deployment`
 */
export function canonicalQuantities(structName: string, object: JsonObject): JsonObject {
  return canonical({ kind: "struct", name: structName }, object) as JsonObject;
}

function canonical(type: FieldType, value: unknown): unknown {
  if (value === null || value === undefined) return value;
  switch (type.kind) {
    case "pointer":
      return canonical(type.element, value);
    case "list":
      return Array.isArray(value) ? value.map((item) => canonical(type.element, item)) : value;
    case "map":
      return mapped(value, () => type.element);
    case "struct": {
      const { byJsonName } = structOf(type.name);
      return mapped(value, (key) => byJsonName.get(key)?.type);
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
    return [key, type === undefined ? item : canonical(type, item)] as const;
  });
  return jsonObject(entries);
}
