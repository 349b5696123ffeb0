import type { JsonSchema } from "./json-schema.js";
import type { FieldConstraints, MessageConstraints, Rule } from "./options.js";

const VALIDATIONS = "x-kubernetes-validations";
const LENGTHS = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"] as const;

/** Returns the schema of a field with the field's constraints. */
export function constrainField(schema: JsonSchema, constraints: FieldConstraints): JsonSchema {
  const result: JsonSchema = { ...schema };
  for (const name of LENGTHS) if (constraints[name] !== undefined) result[name] = Number(constraints[name]);
  if (constraints.minimum !== undefined) result.minimum = constraints.minimum;
  if (constraints.maximum !== undefined) result.maximum = constraints.maximum;
  if (constraints.pattern !== "") result.pattern = constraints.pattern;
  if (constraints.anyDuration) delete result[VALIDATIONS];
  if (constraints.intOrString) {
    delete result.type;
    delete result.format;
    result.anyOf = [{ type: "integer" }, { type: "string" }];
    result["x-kubernetes-int-or-string"] = true;
  }
  if (constraints.listType !== "") result["x-kubernetes-list-type"] = constraints.listType;
  if (constraints.listMapKey !== "") result["x-kubernetes-list-map-keys"] = [constraints.listMapKey];
  if (constraints.items && schema.items) result.items = constrainField(schema.items, constraints.items);
  if (constraints.values && schema.additionalProperties)
    result.additionalProperties = constrainField(schema.additionalProperties, constraints.values);
  const ignored = new Set(constraints.ignoredRules);
  return withRules(ignored.size === 0 ? result : withoutRules(result, ignored), constraints.rules);
}

/** Returns the schema of a message with the message's constraints. */
export function constrainMessage(schema: JsonSchema, { rules, atMostOne }: MessageConstraints): JsonSchema {
  const exclusions = atMostOne.map(({ fields }) => ({
    rule: `${fields.map((name) => `(has(self.${name}) ? 1 : 0)`).join(" + ")} <= 1`,
    message: `at most one of ${fields.slice(0, -1).join(", ")} and ${fields.at(-1)} may be set`,
  }));
  return withRules(schema, [...exclusions, ...rules]);
}

function withRules(schema: JsonSchema, rules: readonly Rule[]): JsonSchema {
  if (rules.length === 0) return schema;
  const added = rules.map(({ rule, message }) => ({ rule, message }));
  return { ...schema, [VALIDATIONS]: [...(schema[VALIDATIONS] ?? []), ...added] };
}

/** Removes rules from a schema and from all within it. */
function withoutRules(schema: JsonSchema, ignored: ReadonlySet<string>): JsonSchema {
  const result: JsonSchema = { ...schema };
  const kept = schema[VALIDATIONS]?.filter(({ rule }) => !ignored.has(rule));
  if (kept?.length) result[VALIDATIONS] = kept;
  else delete result[VALIDATIONS];
  if (schema.items) result.items = withoutRules(schema.items, ignored);
  if (schema.additionalProperties) result.additionalProperties = withoutRules(schema.additionalProperties, ignored);
  if (schema.properties)
    result.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([name, property]) => [name, withoutRules(property, ignored)]),
    );
  return result;
}
