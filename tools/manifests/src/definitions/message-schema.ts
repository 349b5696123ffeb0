import type { DescEnum, DescField, DescMessage } from "@bufbuild/protobuf";
import { commentOf } from "./comments.js";
import { constrainField, constrainMessage } from "./constrain.js";
import type { JsonSchema } from "./json-schema.js";
import type { Options } from "./options.js";
import { scalarSchemas, wellKnownSchemas } from "./scalar-schemas.js";

/**
 * Returns the schema of a message's JSON form, with descriptions from its comments.
 *
 * @throws Error if the message contains itself
 */
export function messageSchema(message: DescMessage, options: Options): JsonSchema {
  return schemaOf(message, options, []);
}

function schemaOf(message: DescMessage, options: Options, within: readonly DescMessage[]): JsonSchema {
  const wellKnown = wellKnownSchemas[message.typeName];
  if (wellKnown) return wellKnown;
  if (within.includes(message)) throw new Error(`${message.typeName}: schemas of recursive messages are not supported`);
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  for (const field of message.fields) {
    const constraints = options.field(field);
    const schema = describe(fieldSchema(field, options, [...within, message]), commentOf(field));
    const property = constraints ? constrainField(schema, constraints) : schema;
    properties[field.jsonName] = property;
    if (constraints?.alternativeName) properties[constraints.alternativeName] = property;
    if (constraints?.required) required.push(field.jsonName);
  }
  const schema: JsonSchema = {
    type: "object",
    properties,
    ...(required.length > 0 && { required }),
    ...oneofs(message),
  };
  const constraints = options.message(message);
  return describe(constraints ? constrainMessage(schema, constraints) : schema, commentOf(message));
}

function fieldSchema(field: DescField, options: Options, within: readonly DescMessage[]): JsonSchema {
  const single = (type: DescMessage | undefined, values: DescEnum | undefined): JsonSchema | undefined => {
    if (values) return { type: "string", enum: values.values.map(({ name }) => name) };
    if (!type) return undefined;
    // The field's description says more about this use than that of the type.
    const { description: _, ...schema } = schemaOf(type, options, within);
    return schema;
  };
  switch (field.fieldKind) {
    case "scalar":
      return scalarSchemas[field.scalar];
    case "enum":
    case "message":
      return single(field.message, field.enum) ?? {};
    case "list":
      return {
        type: "array",
        items: field.scalar === undefined ? (single(field.message, field.enum) ?? {}) : scalarSchemas[field.scalar],
      };
    case "map":
      return {
        type: "object",
        additionalProperties:
          field.scalar === undefined ? (single(field.message, field.enum) ?? {}) : scalarSchemas[field.scalar],
      };
  }
}

/** Accepts none or one of the fields of each oneof. */
function oneofs(message: DescMessage): Pick<JsonSchema, "oneOf" | "allOf"> {
  const choices = message.oneofs
    // Each `optional` field has a oneof of its own, which says nothing.
    .map(({ fields }) => fields.map(({ jsonName }) => ({ required: [jsonName] })))
    .filter((fields) => fields.length > 0)
    .map((fields) => ({ oneOf: [{ not: { anyOf: fields } }, ...fields] }));
  if (choices.length > 1) return { allOf: choices };
  return choices[0] ?? {};
}

function describe(schema: JsonSchema, description: string | undefined): JsonSchema {
  return description === undefined ? schema : { description, ...schema };
}
