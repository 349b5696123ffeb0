import { isJsonObject, type JsonObject } from "../storage/object.js";

/** Removes the fields that a structural schema does not declare, and adds their paths to `removed`. */
export function prune(value: unknown, schema: JsonObject, path: string, removed: string[]): void {
  if (Array.isArray(value)) {
    const { items } = schema;
    if (isJsonObject(items)) value.forEach((item: unknown, at) => prune(item, items, `${path}[${at}]`, removed));
    return;
  }
  if (!isJsonObject(value)) return;
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  const preservesUnknown = schema["x-kubernetes-preserve-unknown-fields"] === true;
  const embedded = schema["x-kubernetes-embedded-resource"] === true ? ["apiVersion", "kind", "metadata"] : [];
  for (const [name, item] of Object.entries(value)) {
    const field = path === "" ? name : `${path}.${name}`;
    const property = Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties;
    if (isJsonObject(property)) prune(item, property, field, removed);
    else if (property !== true && !preservesUnknown && !embedded.includes(name)) {
      delete value[name];
      removed.push(field);
    }
  }
}
