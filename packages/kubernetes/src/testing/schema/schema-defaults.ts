import { copyJson, isJsonObject, type JsonObject } from "../storage/object.js";

/** Sets the defaults of a structural schema in place. */
export function setSchemaDefaults(value: unknown, schema: JsonObject): void {
  if (Array.isArray(value)) {
    const { items } = schema;
    if (isJsonObject(items)) for (const item of value) setSchemaDefaults(item, items);
    return;
  }
  if (!isJsonObject(value)) return;
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  for (const [name, property] of Object.entries(properties)) {
    if (!isJsonObject(property)) continue;
    setDefault(value, name, property);
    if (Object.hasOwn(value, name)) setSchemaDefaults(value[name], property);
  }
  const { additionalProperties } = schema;
  if (!isJsonObject(additionalProperties)) return;
  for (const [name, item] of Object.entries(value)) {
    if (!Object.hasOwn(properties, name)) setSchemaDefaults(item, additionalProperties);
  }
}

/** A null that the schema does not allow counts as absent. */
function setDefault(object: JsonObject, name: string, property: JsonObject): void {
  const isUnset = !Object.hasOwn(object, name) || (object[name] === null && property.nullable !== true);
  if (isUnset && property.default !== undefined) object[name] = copyJson(property.default);
}
