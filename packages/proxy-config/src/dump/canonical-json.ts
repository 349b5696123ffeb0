import type { DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isSensitive, isSensitiveName, redacted, withoutPrivateKey } from "./redaction.js";
import { messageTypes, typeName } from "./registry.js";

/**
 * Converts a message's JSON to protobuf's JSON field names, and redacts secrets. Envoy's admin interface uses the field
 * names of .proto files instead. Unknown fields and types, such as those of a newer Envoy or another vendor's
 * extension, are kept.
 */
export function canonicalJson(schema: DescMessage, json: JsonValue): JsonValue {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return unknownJson(json);
  if (schema.typeName === "google.protobuf.Any") return anyJson(json);
  // Well-known types have a special JSON form.
  if (schema.typeName.startsWith("google.protobuf.")) return opaqueJson(json);
  const fields = fieldsOf(schema);
  return Object.fromEntries(
    Object.entries(json).map(([key, value]): [string, JsonValue] => {
      const field = fields.get(key);
      if (field === undefined) return [key, key === "@type" ? value : unknownField(key, value, schema.typeName)];
      return [
        field.jsonName,
        isSensitive(schema.typeName, field.name)
          ? redacted(fieldJson(field, value), field.jsonName)
          : fieldJson(field, value),
      ];
    }),
  );
}

/** Converts the JSON of a packed message. */
export function anyJson(json: JsonObject): JsonObject {
  const type = json["@type"];
  const schema = typeof type === "string" ? messageTypes().getMessage(typeName(type)) : undefined;
  return (schema === undefined ? unknownFields(json) : canonicalJson(schema, json)) as JsonObject;
}

/** Replaces packed messages of unknown types by empty ones, so that the JSON can be parsed. */
export function withoutUnknownTypes(json: JsonValue): JsonValue {
  if (Array.isArray(json)) return json.map(withoutUnknownTypes);
  if (typeof json !== "object" || json === null) return json;
  const type = json["@type"];
  if (typeof type === "string" && messageTypes().getMessage(typeName(type)) === undefined)
    return { "@type": "type.googleapis.com/google.protobuf.Empty", value: {} };
  return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, withoutUnknownTypes(value)]));
}

function fieldJson(field: DescField, value: JsonValue): JsonValue {
  if (field.message === undefined) return unknownJson(value);
  const { message } = field;
  if (field.fieldKind === "list" && Array.isArray(value)) return value.map((item) => canonicalJson(message, item));
  if (field.fieldKind === "map" && isObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, canonicalJson(message, item)]));
  return canonicalJson(message, value);
}

/** Converts the value of an unknown field, which may contain packed messages of known types. */
function unknownJson(value: JsonValue): JsonValue {
  if (typeof value === "string") return withoutPrivateKey(value);
  if (Array.isArray(value)) return value.map(unknownJson);
  if (!isObject(value)) return value;
  return "@type" in value ? anyJson(value) : unknownFields(value);
}

function unknownFields(json: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, unknownField(key, value)]));
}

function unknownField(name: string, value: JsonValue, message?: string): JsonValue {
  return isSensitiveName(name, message) ? redacted(value) : unknownJson(value);
}

/** Converts a value whose keys are data and not field names. */
function opaqueJson(value: JsonValue): JsonValue {
  if (typeof value === "string") return withoutPrivateKey(value);
  if (Array.isArray(value)) return value.map(opaqueJson);
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, opaqueJson(item)]))
    : value;
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const fieldMaps = new WeakMap<DescMessage, ReadonlyMap<string, DescField>>();

function fieldsOf(schema: DescMessage): ReadonlyMap<string, DescField> {
  let fields = fieldMaps.get(schema);
  if (fields === undefined)
    fieldMaps.set(
      schema,
      (fields = new Map(
        schema.fields.flatMap((field) => [[field.name, field] as const, [field.jsonName, field] as const]),
      )),
    );
  return fields;
}
