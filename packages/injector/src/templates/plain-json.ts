import { GoInteger, GoList, GoMap, GoPointer, GoStruct, type Value } from "@istiod/go-template";
import { jsonObject } from "../go-types/json.js";

/**
 * Returns a value of a template as JSON.
 *
 * @throws Error for functions
 */
export function plainJson(value: Value): unknown {
  if (value === null || typeof value === "string" || typeof value === "boolean" || typeof value === "number")
    return value;
  if (typeof value === "bigint") return Number(value);
  if (value instanceof GoInteger) return Number(value.value);
  if (value instanceof GoList) return value.isNil ? null : value.items.map(plainJson);
  if (value instanceof GoMap) return value.isNil ? null : plainEntries(value.entries);
  if (value instanceof GoPointer) return plainJson(value.target);
  if (value instanceof GoStruct) {
    const content = value.json?.() ?? value.fields;
    return content instanceof Map ? plainEntries(content) : plainJson(content as Value);
  }
  throw new Error("json: unsupported type");
}

const plainEntries = (entries: ReadonlyMap<string | bigint, Value>): unknown =>
  jsonObject([...entries].map(([key, item]) => [String(key), plainJson(item)]));
