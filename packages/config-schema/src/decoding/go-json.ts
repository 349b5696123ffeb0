import { ScalarType, type DescField, type DescMessage } from "@bufbuild/protobuf";
import { parseGoDuration, protobufDuration } from "@istiod/settings";
import { isGoBytes, isGoNumber, isPlainDuration, scalarReadsAlike, timeReadsAlike } from "./go-scalars.js";
import { record } from "./json.js";

const duration = "google.protobuf.Duration";
const timestamp = "google.protobuf.Timestamp";
const wrapper = /^google\.protobuf\.(?:Double|Float|U?Int64|U?Int32|Bool|String|Bytes)Value$/;

const fieldsBySchema = new WeakMap<DescMessage, ReadonlyMap<string, DescField>>();

/** Returns the fields of a message by both of their names in JSON: `minimumRingSize` and `minimum_ring_size`. */
function fieldsOf(schema: DescMessage): ReadonlyMap<string, DescField> {
  let fields = fieldsBySchema.get(schema);
  if (fields === undefined) {
    fields = new Map(schema.fields.flatMap((field) => [field.name, field.jsonName].map((name) => [name, field])));
    fieldsBySchema.set(schema, fields);
  }
  return fields;
}

/**
 * Reports whether Go's decoder (`jsonpb`) and protobuf's own read a message's JSON alike, or both reject it. They
 * differ in the texts of durations, times, numbers and bytes, and in a field that is set under both of its names.
 * Nearly every document reads alike.
 */
export function readsAlike(schema: DescMessage, json: unknown): boolean {
  if (schema.typeName.startsWith("google.protobuf.")) return wellKnownReadsAlike(schema, json);
  const values = record(json);
  if (values === undefined) return true;
  const fields = fieldsOf(schema);
  for (const key in values) {
    const value = values[key];
    const field = fields.get(key);
    if (field === undefined) continue;
    if (key !== field.jsonName && Object.hasOwn(values, field.jsonName)) return false;
    if (value !== null && !fieldReadsAlike(field, value)) return false;
  }
  return true;
}

function wellKnownReadsAlike(schema: DescMessage, json: unknown): boolean {
  if (schema.typeName === duration) return isPlainDuration(json);
  if (schema.typeName === timestamp) return timeReadsAlike(json);
  const [field] = wrapper.test(schema.typeName) ? schema.fields : [];
  return field?.scalar === undefined || scalarReadsAlike(field.scalar, json);
}

function fieldReadsAlike(field: DescField, json: unknown): boolean {
  if (field.fieldKind === "list") return !Array.isArray(json) || json.every((item) => valueReadsAlike(field, item));
  if (field.fieldKind !== "map") return valueReadsAlike(field, json);
  const entries = record(json);
  if (entries === undefined) return true;
  for (const key in entries)
    if (!scalarReadsAlike(field.mapKey, key) || !valueReadsAlike(field, entries[key])) return false;
  return true;
}

function valueReadsAlike({ message, scalar }: DescField, json: unknown): boolean {
  if (message !== undefined) return readsAlike(message, json);
  return scalar === undefined || scalarReadsAlike(scalar, json);
}

/**
 * Rewrites what Go's decoder reads in a message's JSON to protobuf's forms: durations such as `1h30m`, and texts of
 * numbers with spaces around them or of null, which is 0. Of a field's two names, the one of JSON applies. Malformed
 * values are unchanged.
 */
export function withProtobufForms(schema: DescMessage, json: unknown): unknown {
  if (schema.typeName === duration) {
    const nanoseconds = typeof json === "string" ? parseGoDuration(json) : undefined;
    return nanoseconds === undefined ? json : protobufDuration(nanoseconds);
  }
  const [wrapped] = wrapper.test(schema.typeName) ? schema.fields : [];
  if (wrapped?.scalar !== undefined) return withProtobufScalar(wrapped.scalar, json);
  const values = record(json);
  if (values === undefined || schema.typeName.startsWith("google.protobuf.")) return json;
  const fields = fieldsOf(schema);
  return Object.fromEntries(
    Object.entries(values).flatMap(([key, value]): [string, unknown][] => {
      const field = fields.get(key);
      if (field === undefined) return [[key, value]];
      if (key !== field.jsonName && Object.hasOwn(values, field.jsonName)) return [];
      return [[key, withProtobufField(field, value)]];
    }),
  );
}

function withProtobufField(field: DescField, json: unknown): unknown {
  const rewrite = (value: unknown): unknown =>
    field.message !== undefined
      ? withProtobufForms(field.message, value)
      : field.scalar === undefined
        ? value
        : withProtobufScalar(field.scalar, value);
  if (field.fieldKind === "list") return Array.isArray(json) ? json.map(rewrite) : json;
  const entries = field.fieldKind === "map" ? record(json) : undefined;
  if (entries === undefined) return rewrite(json);
  const { mapKey } = field as Extract<DescField, { fieldKind: "map" }>;
  return Object.fromEntries(
    Object.entries(entries).map(([key, value]) => [String(withProtobufScalar(mapKey, key)), rewrite(value)]),
  );
}

function withProtobufScalar(type: ScalarType, json: unknown): unknown {
  if (typeof json !== "string" || type === ScalarType.STRING) return json;
  if (type === ScalarType.BYTES) return isGoBytes(json) ? json.replace(/[\r\n]/g, "") : json;
  if (isGoNumber(json)) return json.trim();
  return type !== ScalarType.BOOL && /^ *null *$/.test(json) ? 0 : json;
}
