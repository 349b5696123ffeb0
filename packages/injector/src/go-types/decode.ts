import { InjectorError } from "../errors.js";
import { asObject, copyJson, type JsonObject, jsonObject, jsonTypeOf } from "./json.js";
import { canonicalQuantity } from "./quantity.js";
import { type Field, type FieldType, type ScalarName, structOf } from "./types.js";

/** Options of decoding. */
export interface DecodeOptions {
  /** Accepts numbers and booleans for strings, as `kubectl` and `istioctl` do for YAML. Default: false. */
  readonly convertsScalars?: boolean;
}

/**
 * Returns an object in the JSON form that Go's type of it has: fields in the order of the type, without empty ones that
 * it omits, and quantities in canonical form. Fields that the type does not know are kept, so that a newer API server's
 * are not lost.
 *
 * @throws InjectorError `pod` if a field has another type
 */
export function decodeStruct(name: string, value: unknown, place: string, options: DecodeOptions = {}): JsonObject {
  const object = asObject(value ?? {});
  if (object === undefined) throw mismatch(place, value, "an object");
  const struct = structOf(name);
  const result = jsonObject();
  for (const field of struct.fields) {
    if (isOmitted(field, object[field.jsonName])) continue;
    const decoded = decodeValue(field.type, object[field.jsonName], `${place}.${field.jsonName}`, options);
    if (!field.omitsEmpty || !isEmpty(field.type, decoded)) result[field.jsonName] = decoded;
  }
  for (const key of Object.keys(object)) {
    const item = object[key];
    if (item !== undefined && !struct.byJsonName.has(key)) result[key] = copyJson(item);
  }
  return result;
}

/** Reports whether a field is absent, and its zero value is omitted, which is true of most fields of most objects. */
function isOmitted({ omitsEmpty, type }: Field, value: unknown): boolean {
  if (!omitsEmpty || (value !== undefined && value !== null)) return false;
  return type.kind !== "struct" && (type.kind !== "scalar" || isEmpty(type, zeroOf(type.name)));
}

function decodeValue(type: FieldType, value: unknown, place: string, options: DecodeOptions): unknown {
  switch (type.kind) {
    case "scalar":
      return value === undefined || value === null ? zeroOf(type.name) : decodeScalar(type.name, value, place, options);
    case "pointer":
      return value === undefined || value === null ? null : decodeValue(type.element, value, place, options);
    case "struct":
      return decodeStruct(type.name, value, place, options);
    case "list":
      if (value === undefined || value === null) return null;
      if (!Array.isArray(value)) throw mismatch(place, value, "a list");
      return value.map((item, i) => decodeValue(type.element, item, `${place}[${i}]`, options));
    case "map": {
      if (value === undefined || value === null) return null;
      const object = asObject(value);
      if (object === undefined) throw mismatch(place, value, "an object");
      const result = jsonObject();
      for (const key of Object.keys(object))
        result[key] = decodeValue(type.element, object[key], `${place}[${JSON.stringify(key)}]`, options);
      return result;
    }
  }
}

function zeroOf(name: ScalarName): unknown {
  if (name === "bool") return false;
  if (name === "int32" || name === "int64" || name === "IntOrString") return 0;
  if (name === "Quantity") return "0";
  return name === "string" ? "" : null;
}

function decodeScalar(name: ScalarName, value: unknown, place: string, { convertsScalars }: DecodeOptions): unknown {
  switch (name) {
    case "string":
      if (typeof value === "string") return value;
      if (convertsScalars === true && (typeof value === "number" || typeof value === "boolean")) return String(value);
      throw mismatch(place, value, "a string");
    case "bool":
      if (typeof value === "boolean") return value;
      throw mismatch(place, value, "a boolean");
    case "int32":
    case "int64":
      if (typeof value === "number" && isInteger(name, value)) return value;
      throw mismatch(place, value, name === "int32" ? "an integer of 32 bits" : "an integer");
    case "IntOrString":
      if (typeof value === "string" || (typeof value === "number" && isInteger("int32", value))) return value;
      throw mismatch(place, value, "an integer or a string");
    case "Quantity": {
      const text = typeof value === "number" ? String(value) : typeof value === "string" ? value.trim() : undefined;
      const quantity = text === undefined ? undefined : canonicalQuantity(text);
      if (quantity === undefined)
        throw new InjectorError("pod", `${place}: is ${JSON.stringify(value)}, expected a quantity`);
      return quantity;
    }
    case "Time":
      if (typeof value === "string" && !Number.isNaN(Date.parse(value))) return value;
      throw mismatch(place, value, "a time");
    case "any":
      return copyJson(value);
  }
}

const isInteger = (name: "int32" | "int64", value: number): boolean =>
  Number.isInteger(value) && (name === "int64" || (value >= -(2 ** 31) && value < 2 ** 31));

/** Reports whether Go's JSON omits a value: false, 0, "", nil, and lists and maps without elements. */
function isEmpty(type: FieldType, value: unknown): boolean {
  if (value === null) return true;
  if (type.kind === "list") return Array.isArray(value) && value.length === 0;
  if (type.kind === "map") return Object.keys(asObject(value) ?? {}).length === 0;
  if (type.kind !== "scalar") return false;
  return (type.name === "bool" || type.name === "string" || type.name.startsWith("int")) && !value;
}

function mismatch(place: string, value: unknown, expected: string): InjectorError {
  return new InjectorError("pod", `${place}: is ${jsonTypeOf(value)}, expected ${expected}`);
}

/** Returns the elements of a list in a decoded object; none if it is absent. */
export const elementsOf = (object: JsonObject, field: Field["jsonName"]): readonly JsonObject[] =>
  (object[field] ?? []) as readonly JsonObject[];
