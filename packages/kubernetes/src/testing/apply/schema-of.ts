import type { TypeInVersion } from "../discovery/served-type.js";
import { builtInSchema, customSchema, type FieldSchema } from "./field-schema.js";

/** Returns the rules of merging and ownership of a type. */
export function schemaOf({ type, version }: TypeInVersion): FieldSchema {
  return type.isCustom ? customSchema(version.schema) : builtInSchema(type.kind);
}
