import type { DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isSensitive, isSensitiveName, redacted, withoutPrivateKey } from "./redaction.js";
import { messageTypes, typeName } from "./registry.js";

/**
 * A message's JSON with the names of fields that protobuf prescribes, where Envoy's admin interface has those of the
 * .proto file, and without secrets. Fields and types that Envoy's API does not have here, such as those of a newer
 * Envoy or of another vendor's extension, are kept.
 */
export function canonicalJson(schema: DescMessage, json: JsonValue): JsonValue {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return unknownJson(json);
  if (schema.typeName === "google.protobuf.Any") return anyJson(json);
  // The JSON of a well-known type is not that of its fields.
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

/** The JSON of a packed message, in the same form. */
export function anyJson(json: JsonObject): JsonObject {
  const type = json["@type"];
  const schema = typeof type === "string" ? messageTypes().getMessage(typeName(type)) : undefined;
  return (schema === undefined ? unknownFields(json) : canonicalJson(schema, json)) as JsonObject;
}

/** JSON that can be parsed: packed messages of unknown types are replaced by empty ones. */
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

/** A value of an unknown field, in which messages of known types may be packed. */
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

/** A value that is data, not a message: its keys are nobody's fields. */
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
