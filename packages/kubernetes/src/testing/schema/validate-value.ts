import type { FieldError } from "../http/status-error.js";
import { equalJson, isJsonObject, type JsonObject } from "../storage/object.js";

const typeOf = (value: unknown): string => {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value === "object" ? "object" : typeof value;
};

/** Validates a value by an OpenAPI v3 schema, and adds what is wrong to `errors`. */
export function validateValue(value: unknown, schema: JsonObject, path: string, errors: FieldError[]): void {
  if (value === null && schema.nullable === true) return;
  if (!hasType(value, schema)) {
    const message = `Invalid value: ${JSON.stringify(typeOf(value))}: ${path} in body must be of type ${String(schema.type)}: ${JSON.stringify(typeOf(value))}`;
    errors.push({ field: path, reason: "FieldValueTypeInvalid", message });
    return;
  }
  validateEnum(value, schema, path, errors);
  if (typeof value === "string") validateString(value, schema, path, errors);
  if (typeof value === "number") validateNumber(value, schema, path, errors);
  if (Array.isArray(value)) validateList(value, schema, path, errors);
  if (isJsonObject(value)) validateObject(value, schema, path, errors);
  validateCombinations(value, schema, path, errors);
}

function hasType(value: unknown, schema: JsonObject): boolean {
  const found = typeOf(value);
  if (schema["x-kubernetes-int-or-string"] === true) return found === "integer" || found === "string";
  if (schema.type === undefined || schema.type === "") return true;
  return schema.type === found || (schema.type === "number" && found === "integer");
}

function validateEnum(value: unknown, schema: JsonObject, field: string, errors: FieldError[]): void {
  if (!Array.isArray(schema.enum) || schema.enum.some((allowed) => equalJson(allowed, value))) return;
  const supported = schema.enum.map((allowed) => JSON.stringify(allowed)).join(", ");
  const message = `Unsupported value: ${JSON.stringify(value)}: supported values: ${supported}`;
  errors.push({ field, reason: "FieldValueNotSupported", message });
}

const invalidValue = (value: unknown, field: string, rule: string): FieldError => ({
  field,
  reason: "FieldValueInvalid",
  message: `Invalid value: ${JSON.stringify(value)}: ${field} in body ${rule}`,
});

function validateString(value: string, schema: JsonObject, path: string, errors: FieldError[]): void {
  const length = [...value].length;
  if (typeof schema.maxLength === "number" && length > schema.maxLength) {
    const message = `Too long: may not be more than ${schema.maxLength} bytes`;
    errors.push({ field: path, reason: "FieldValueTooLong", message });
  }
  if (typeof schema.minLength === "number" && length < schema.minLength) {
    errors.push(invalidValue(value, path, `should be at least ${schema.minLength} chars long`));
  }
  if (typeof schema.pattern === "string" && !new RegExp(schema.pattern, "u").test(value)) {
    errors.push(invalidValue(value, path, `should match '${schema.pattern}'`));
  }
  if (schema.format === "date-time" && Number.isNaN(Date.parse(value))) {
    errors.push(invalidValue(value, path, `must be of type date-time: ${JSON.stringify(value)}`));
  }
}

function validateNumber(value: number, schema: JsonObject, path: string, errors: FieldError[]): void {
  const { minimum, maximum } = schema;
  const isBelow =
    typeof minimum === "number" && (schema.exclusiveMinimum === true ? value <= minimum : value < minimum);
  const isAbove =
    typeof maximum === "number" && (schema.exclusiveMaximum === true ? value >= maximum : value > maximum);
  if (isBelow) errors.push(invalidValue(value, path, `should be greater than or equal to ${minimum}`));
  if (isAbove) errors.push(invalidValue(value, path, `should be less than or equal to ${maximum}`));
}

function validateList(value: readonly unknown[], schema: JsonObject, field: string, errors: FieldError[]): void {
  if (typeof schema.maxItems === "number" && value.length > schema.maxItems) {
    const message = `Too many: ${value.length}: must have at most ${schema.maxItems} items`;
    errors.push({ field, reason: "FieldValueTooMany", message });
  }
  if (typeof schema.minItems === "number" && value.length < schema.minItems) {
    errors.push(invalidValue(value.length, field, `should have at least ${schema.minItems} items`));
  }
  const keys = duplicateKeys(value, schema);
  for (const [at, key] of keys) {
    errors.push({ field: `${field}[${at}]`, reason: "FieldValueDuplicate", message: `Duplicate value: ${key}` });
  }
  const { items } = schema;
  if (isJsonObject(items)) value.forEach((item, at) => validateValue(item, items, `${field}[${at}]`, errors));
}

function duplicateKeys(value: readonly unknown[], schema: JsonObject): readonly (readonly [number, string])[] {
  const type = schema["x-kubernetes-list-type"];
  const names = schema["x-kubernetes-list-map-keys"];
  if (type !== "set" && !(type === "map" && Array.isArray(names))) return [];
  const keys = value.map((item) => {
    if (type === "set" || !isJsonObject(item) || !Array.isArray(names)) return JSON.stringify(item);
    return JSON.stringify(Object.fromEntries(names.map((name: string) => [name, item[name]])));
  });
  return keys.flatMap((key, at) => (keys.indexOf(key) < at ? [[at, key] as const] : []));
}

function validateObject(value: JsonObject, schema: JsonObject, path: string, errors: FieldError[]): void {
  const fieldOf = (name: string): string => (path === "" ? name : `${path}.${name}`);
  for (const name of Array.isArray(schema.required) ? (schema.required as string[]) : []) {
    if (Object.hasOwn(value, name)) continue;
    errors.push({ field: fieldOf(name), reason: "FieldValueRequired", message: "Required value" });
  }
  const count = Object.keys(value).length;
  if (typeof schema.maxProperties === "number" && count > schema.maxProperties) {
    const message = `Too many: ${count}: must have at most ${schema.maxProperties} items`;
    errors.push({ field: path, reason: "FieldValueTooMany", message });
  }
  if (typeof schema.minProperties === "number" && count < schema.minProperties) {
    errors.push(invalidValue(count, path, `should have at least ${schema.minProperties} properties`));
  }
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  for (const [name, item] of Object.entries(value)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties;
    if (isJsonObject(property)) validateValue(item, property, fieldOf(name), errors);
  }
}

function validateCombinations(value: unknown, schema: JsonObject, path: string, errors: FieldError[]): void {
  const failures = (part: unknown): number => {
    const found: FieldError[] = [];
    if (isJsonObject(part)) validateValue(value, part, path, found);
    return found.length;
  };
  if (Array.isArray(schema.allOf)) {
    for (const part of schema.allOf) if (isJsonObject(part)) validateValue(value, part, path, errors);
  }
  if (Array.isArray(schema.anyOf) && schema.anyOf.every((part) => failures(part) > 0)) {
    errors.push(invalidValue(value, path, "must validate at least one schema (anyOf)"));
  }
  if (Array.isArray(schema.oneOf) && schema.oneOf.filter((part) => failures(part) === 0).length !== 1) {
    errors.push(invalidValue(value, path, "must validate one and only one schema (oneOf)"));
  }
  if (isJsonObject(schema.not) && failures(schema.not) === 0) {
    errors.push(invalidValue(value, path, "must not validate the schema (not)"));
  }
}
