import {
  fromJson,
  ScalarType,
  type DescEnum,
  type DescField,
  type DescMessage,
  type JsonValue,
} from "@bufbuild/protobuf";
import { isGoBytes, isGoFloat, isGoInteger, isGoNumber, timeReadsAlike } from "./go-scalars.js";
import { scalarTypeName } from "./scalar-type-name.js";
import { describe } from "./fields.js";
import { record } from "./json.js";
import { nearestNames, parseGoDuration } from "@istiod/settings";
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
  /**
   * Accepts scalars as Envoy's configuration does (`protojson`): whole numbers in any form, such as `1e2`, and long
   * durations. Default: as Istio's decoder does (`jsonpb`).
   */
  protojson?: boolean | undefined;
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
    if (!isWellKnown(schema, json, found)) found.fault(path, `is ${describe(json)}, expected ${form}${hint()}`);
    return;
  }
  const fields = record(json);
  if (fields === undefined) {
    found.fault(path, `is ${describe(json)}, expected a mapping`);
    return;
  }
  const chosen = new Map<string, string>();
  const named = new Map<string, string>();
  for (const [key, value] of Object.entries(fields)) {
    const field = schema.fields.find((f) => f.jsonName === key || f.name === key);
    if (field === undefined) {
      found.unknown([...path, key], `is not a field of ${schema.name}${suggestion(schema, key)}`);
      continue;
    }
    if (value === null && !holdsNull(field)) continue;
    const otherName = named.get(field.name);
    if (otherName !== undefined) found.fault([...path, key], `is the field ${otherName}, which is already set`);
    named.set(field.name, key);
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
      else
        for (const [key, value] of Object.entries(entries)) {
          if (!isMapKey(field.mapKey, key))
            found.fault([...path, key], `has the key ${describe(key)}, expected ${scalarTypeName(field.mapKey)}`);
          valueFaults(field, value, found, [...path, key]);
        }
      break;
    }
    default:
      valueFaults(field, json, found, path);
  }
}

function valueFaults(field: DescField, json: unknown, found: JsonFaults, path: FieldPath): void {
  if (field.message !== undefined) findJsonFaults(field.message, json, found, path);
  else if (field.enum !== undefined) enumFault(field.enum, json, found, path);
  else if (!isScalar(field.scalar ?? ScalarType.STRING, json, found)) {
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

function isScalar(type: ScalarType, json: unknown, { protojson = false }: JsonFaults): boolean {
  switch (type) {
    case ScalarType.STRING:
      return typeof json === "string";
    case ScalarType.BOOL:
      return typeof json === "boolean";
    case ScalarType.BYTES:
      return isGoBytes(json) || (protojson && typeof json === "string" && /^[A-Za-z0-9+/_-]*={0,2}$/.test(json));
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return isGoFloat(json, type);
    default: {
      const isNumber = protojson ? isGoNumber(json) && Number.isInteger(Number(json)) : isGoInteger(json);
      return isNumber && isInRange(type, json as number | string);
    }
  }
}

/** Reports whether the key of a mapping, which is always a text in JSON, is a value of its type. */
function isMapKey(type: ScalarType, key: string): boolean {
  if (type === ScalarType.STRING) return true;
  if (type === ScalarType.BOOL) return key === "true" || key === "false";
  return isGoInteger(key) && isInRange(type, key);
}

function isInRange(type: ScalarType, json: number | string): boolean {
  const [least, most] = rangeOf(type);
  if (least === 0 && typeof json === "string" && json.includes("-")) return false;
  return Number(json) >= least && Number(json) <= most;
}

function rangeOf(type: ScalarType): readonly [number, number] {
  switch (type) {
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return [-(2 ** 31), 2 ** 31 - 1];
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return [0, 2 ** 32 - 1];
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return [0, 2 ** 64 - 1];
    default:
      return [-(2 ** 63), 2 ** 63 - 1];
  }
}

function holdsNull(field: DescField): boolean {
  return field.message?.typeName === "google.protobuf.Value";
}

/** Reports whether a value is of a message whose JSON form is not an object, with durations in protobuf's form. */
function isWellKnown(schema: DescMessage, json: unknown, found: JsonFaults): boolean {
  if (schema.typeName === "google.protobuf.Duration" && !isDuration(json, found)) return false;
  if (schema.typeName === "google.protobuf.Timestamp" && !timeReadsAlike(json)) return false;
  const [field] = schema.typeName.endsWith("Value") && schema.fields.length === 1 ? schema.fields : [];
  if (field?.scalar !== undefined && !isScalar(field.scalar, json, found)) return false;
  return decodes(schema, json);
}

function isDuration(json: unknown, { protojson = false }: JsonFaults): boolean {
  if (typeof json !== "string" || !/^-?\d+(?:\.\d{1,9})?s$/.test(json)) return false;
  return protojson || parseGoDuration(json) !== undefined;
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
