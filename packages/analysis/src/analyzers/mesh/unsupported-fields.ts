import {
  destinationRuleKind,
  destinationRules,
  type FieldPath,
  requestAuthenticationKind,
  requestAuthentications,
  virtualServiceKind,
  virtualServices,
} from "@istiod/config-schema";
import { type AnalysisContext, type Analyzer, meshConfigRule, rule } from "../../analyzer.js";
import { fieldsWithoutEffect } from "../../no-effect/fields-without-effect.js";

export const unsupportedFieldAnalyzer: Analyzer = {
  name: "mesh.UnsupportedFieldAnalyzer",
  description: "Checks for fields that have no effect",
  codes: ["MESH0003"],
  rules: [
    rule(virtualServiceKind, virtualServices, ({ spec }, context) => checkFields(spec, ["spec"], context)),
    rule(destinationRuleKind, destinationRules, ({ spec }, context) => checkFields(spec, ["spec"], context)),
    rule(requestAuthenticationKind, requestAuthentications, ({ spec }, context) =>
      checkFields(spec, ["spec"], context),
    ),
    meshConfigRule((config, context) => checkFields(config, [], context)),
  ],
};

/**
 * Reports fields without effect that are set in a message or in its nested messages. The path contains the name of a
 * oneof's field, not of the oneof.
 */
function checkFields(value: unknown, path: FieldPath, context: AnalysisContext): void {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return;
  if (Array.isArray(value)) return value.forEach((item, i) => checkFields(item, [...path, i], context));
  const type = "$typeName" in value ? String(value.$typeName) : undefined;
  for (const [key, field] of Object.entries(value)) {
    if (key.startsWith("$")) continue;
    const { name, content } = type === undefined ? { name: key, content: field as unknown } : fieldOf(key, field);
    const reason = type === undefined || isEmpty(content) ? undefined : fieldsWithoutEffect[`${type}.${name}`];
    if (reason === undefined) checkFields(content, [...path, name], context);
    else context.report("MESH0003", [...path, name], `${name} has no effect: ${reason}`);
  }
}

/** Returns the name and content of a field; for a oneof, of the case that is set. */
function fieldOf(key: string, field: unknown): { readonly name: string; readonly content: unknown } {
  if (typeof field !== "object" || field === null || !("case" in field)) return { name: key, content: field };
  return { name: String(field.case), content: "value" in field ? field.value : undefined };
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "" || value === 0 || value === false) return true;
  return typeof value === "object" && !(value instanceof Uint8Array) && Object.keys(value).length === 0;
}
