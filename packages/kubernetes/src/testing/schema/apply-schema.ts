import { badRequest, type FieldError, invalid } from "../http/status-error.js";
import type { ApiObject } from "../storage/object.js";
import type { Target, WriteOptions } from "../storage/server-state.js";
import { isJsonObject, type JsonObject } from "../storage/object.js";
import { prune } from "./prune.js";
import { setSchemaDefaults } from "./schema-defaults.js";
import { validateValue } from "./validate-value.js";

/**
 * Prunes unknown fields of a custom resource, sets the defaults of its schema, and validates it.
 *
 * CEL rules are not evaluated.
 *
 * @throws StatusError 422, or 400 for unknown fields with `fieldValidation=Strict`
 */
export function applySchema({ type, version }: Target, object: ApiObject, options: WriteOptions): ApiObject {
  const { schema } = version;
  if (schema === undefined) return object;
  const content = contentOf(object);
  const unknown: string[] = [];
  prune(content, schema, "", unknown);
  if (unknown.length > 0) reportUnknown(unknown, options);
  setSchemaDefaults(content, schema);
  const errors: FieldError[] = [];
  validateValue(content, withoutMetadata(schema), "", errors);
  if (errors.length > 0) throw invalid(type.kind, type.group, object.metadata.name ?? "", errors);
  return { ...content, apiVersion: object.apiVersion, kind: object.kind, metadata: object.metadata };
}

const contentOf = ({ apiVersion: _v, kind: _k, metadata: _m, ...content }: ApiObject): JsonObject => content;

/** The server itself validates these. */
function withoutMetadata(schema: JsonObject): JsonObject {
  const system = new Set(["apiVersion", "kind", "metadata"]);
  const required = Array.isArray(schema.required) ? schema.required.filter((name: string) => !system.has(name)) : [];
  if (!isJsonObject(schema.properties)) return { ...schema, required };
  const properties = Object.fromEntries(Object.entries(schema.properties).filter(([name]) => !system.has(name)));
  return { ...schema, properties, required };
}

function reportUnknown(unknown: readonly string[], { fieldValidation, warn }: WriteOptions): void {
  const messages = unknown.map((field) => `unknown field "${field}"`);
  if (fieldValidation === "Strict") throw badRequest(`strict decoding error: ${messages.join(", ")}`);
  if (fieldValidation === "Warn") messages.forEach(warn);
}
