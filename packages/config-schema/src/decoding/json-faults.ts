import {
  fromJson,
  ScalarType,
  type DescEnum,
  type DescField,
  type DescMessage,
  type JsonValue,
} from "@bufbuild/protobuf";
import { scalarTypeName } from "./scalar-type-name.js";
import { describe } from "./fields.js";
import { record } from "./json.js";
import { nearestNames } from "@istiod/settings";
import { quoteHint } from "./quote-hint.js";
import type { FieldPath } from "./report.js";

export interface JsonFaults {
  /** Reports a value of a type that its field does not accept. */
  fault(path: FieldPath, message: string): void;
  /** Reports a field that the message does not have. */
  unknown(path: FieldPath, message: string): void;
  /** Returns the unquoted word at a path of the document's text. See {@link Report.wordAt}. */
  wordAt?: ((path: FieldPath) => string | undefined) | undefined;
  /** Checks a packed message (`google.protobuf.Any`). Default: its type must be known, which none is. */
  any?: ((path: FieldPath, json: unknown) => void) | undefined;
  /** Reports a name that an enumeration does not have. Default: `fault`. */
  unknownName?: ((path: FieldPath, message: string, name: string, names: readonly string[]) => void) | undefined;
}

/** Messages whose JSON form is not an object. */
const expectedForm: Readonly<Record<string, string>> = {
  "google.protobuf.Duration": "a duration such as 1.5s",
  "google.protobuf.Timestamp": "a time such as 2024-01-31T12:00:00Z",
  "google.protobuf.Struct": "a mapping",
  "google.protobuf.Value": "any value",
  "google.protobuf.ListValue": "a list",
  "google.protobuf.FieldMask": "comma-separated field names",
  "google.protobuf.Any": "a mapping with @type",
  "google.protobuf.BoolValue": "true or false",
  "google.protobuf.StringValue": "a string",
  "google.protobuf.BytesValue": "base64 text",
  "google.protobuf.DoubleValue": "a number",
  "google.protobuf.FloatValue": "a number",
  "google.protobuf.Int32Value": "an integer",
  "google.protobuf.Int64Value": "an integer",
  "google.protobuf.UInt32Value": "an integer of 0 or more",
  "google.protobuf.UInt64Value": "an integer of 0 or more",
};

/** Reports every place where a JSON value does not conform to a message. */
export function findJsonFaults(schema: DescMessage, json: unknown, found: JsonFaults, path: FieldPath = []): void {
  if (found.any !== undefined && schema.typeName === "google.protobuf.Any") return found.any(path, json);
  const form = expectedForm[schema.typeName];
  if (form !== undefined) {
    const hint = (): string =>
      schema.typeName === "google.protobuf.StringValue" ? quoteHint(json, found.wordAt?.(path)) : "";
    if (!decodes(schema, json)) found.fault(path, `is ${describe(json)}, expected ${form}${hint()}`);
    return;
  }
  const fields = record(json);
  if (fields === undefined) {
    found.fault(path, `is ${describe(json)}, expected a mapping`);
    return;
  }
  const chosen = new Map<string, string>();
  for (const [key, value] of Object.entries(fields)) {
    const field = schema.fields.find((f) => f.jsonName === key || f.name === key);
    if (field === undefined) {
      found.unknown([...path, key], `is not a field of ${schema.name}${suggestion(schema, key)}`);
      continue;
    }
    if (value === null && !holdsNull(field)) continue;
    if (field.oneof !== undefined) {
      const other = chosen.get(field.oneof.name);
      if (other !== undefined) found.fault([...path, key], `excludes ${other}: only one of them can be set`);
      chosen.set(field.oneof.name, key);
    }
    fieldFaults(field, value, found, [...path, key]);
  }
}

function fieldFaults(field: DescField, json: unknown, found: JsonFaults, path: FieldPath): void {
  switch (field.fieldKind) {
    case "list":
      if (!Array.isArray(json)) found.fault(path, `is ${describe(json)}, expected a list`);
      else json.forEach((item: unknown, i) => valueFaults(field, item, found, [...path, i]));
      break;
    case "map": {
      const entries = record(json);
      if (entries === undefined) found.fault(path, `is ${describe(json)}, expected a mapping`);
      else for (const [key, value] of Object.entries(entries)) valueFaults(field, value, found, [...path, key]);
      break;
    }
    default:
      valueFaults(field, json, found, path);
  }
}

function valueFaults(field: DescField, json: unknown, found: JsonFaults, path: FieldPath): void {
  if (field.message !== undefined) findJsonFaults(field.message, json, found, path);
  else if (field.enum !== undefined) enumFault(field.enum, json, found, path);
  else if (!isScalar(field.scalar ?? ScalarType.STRING, json)) {
    const type = field.scalar ?? ScalarType.STRING;
    const hint = type === ScalarType.STRING ? quoteHint(json, found.wordAt?.(path)) : "";
    found.fault(path, `is ${describe(json)}, expected ${scalarTypeName(type)}${hint}`);
  }
}

function enumFault(desc: DescEnum, json: unknown, found: JsonFaults, path: FieldPath): void {
  if (typeof json === "number" && Number.isInteger(json)) return;
  const names = desc.values.map(({ name }) => name);
  if (typeof json === "string" && names.includes(json)) return;
  const message = `is ${describe(json)}, expected one of ${names.join(", ")}`;
  if (found.unknownName !== undefined && typeof json === "string") found.unknownName(path, message, json, names);
  else found.fault(path, message);
}

function isScalar(type: ScalarType, json: unknown): boolean {
  switch (type) {
    case ScalarType.STRING:
      return typeof json === "string";
    case ScalarType.BOOL:
      return typeof json === "boolean";
    case ScalarType.BYTES:
      return typeof json === "string" && /^[A-Za-z0-9+/_-]*={0,2}$/.test(json);
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return isNumeric(json) || json === "NaN" || json === "Infinity" || json === "-Infinity";
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return isIntegerBetween(json, -(2 ** 31), 2 ** 31 - 1);
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return isIntegerBetween(json, 0, 2 ** 32 - 1);
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return isIntegerBetween(json, 0, 2 ** 64 - 1);
    default:
      return isIntegerBetween(json, -(2 ** 63), 2 ** 63 - 1);
  }
}

function isNumeric(json: unknown): boolean {
  return (
    typeof json === "number" ||
    (typeof json === "string" && json.trim() === json && json !== "" && Number.isFinite(Number(json)))
  );
}

function isIntegerBetween(json: unknown, least: number, most: number): boolean {
  return isNumeric(json) && Number.isInteger(Number(json)) && Number(json) >= least && Number(json) <= most;
}

function holdsNull(field: DescField): boolean {
  return field.message?.typeName === "google.protobuf.Value";
}

function decodes(schema: DescMessage, json: unknown): boolean {
  try {
    fromJson(schema, json as JsonValue);
    return true;
  } catch {
    return false;
  }
}

function suggestion(schema: DescMessage, key: string): string {
  const names = schema.fields.map((f) => f.jsonName);
  const [near] = nearestNames(key, names, 1);
  if (near !== undefined) return `; did you mean ${near}?`;
  return names.length === 0 ? ", which has none" : names.length > 12 ? "" : `, which has ${names.join(", ")}`;
}
