import type { DescMessage } from "@bufbuild/protobuf";
import type { FieldPath, Report } from "@istiod/config-schema";
import {
  EnvoyFilter_ApplyTo as ApplyTo,
  type EnvoyFilter_EnvoyConfigObjectPatch as ConfigPatch,
  EnvoyFilter_PatchContext as Context,
} from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { patchedMessages } from "./message-types.js";
import { checkPatchValue } from "./check-value.js";

/**
 * Checks the values of patches against Envoy's types. Source: pkg/config/validation/envoyfilter/envoyfilter.go.
 *
 * @param path the path of the list of patches
 */
export function checkPatches(patches: readonly ConfigPatch[], path: FieldPath, report: Report): void {
  for (const [at, patch] of patches.entries()) checkPatch(patch, [...path, at, "patch", "value"], report);
}

function checkPatch({ applyTo, match, patch }: ConfigPatch, path: FieldPath, report: Report): void {
  // As in Istio, patches of waypoints are not checked.
  if (match?.context === Context.WAYPOINT || patch?.value === undefined) return;
  const schema = patchedMessages[applyTo];
  if (schema === undefined) return report.error(path, `cannot be applied to ${ApplyTo[applyTo]}`);
  checkPatchValue(schema, patch.value, path, report);
  const missing = filtersByName(schema, patch.value);
  if (missing.length > 0)
    report.warning(
      path,
      `has no typed_config for ${missing.join(", ")}, which a name alone does not determine; add typed_config`,
    );
}

/** Returns the names of the extensions that lack `typed_config`, in a message and the single messages in it. */
function filtersByName(schema: DescMessage, json: unknown): readonly string[] {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return [];
  if (schema.typeName.startsWith("google.protobuf.")) return [];
  const fields = json as Readonly<Record<string, unknown>>;
  const valueOf = (name: string, jsonName: string): unknown => fields[name] ?? fields[jsonName];
  const inner = schema.fields.flatMap((field) =>
    field.fieldKind === "message" ? filtersByName(field.message, valueOf(field.name, field.jsonName)) : [],
  );
  const isExtension = schema.fields.some(({ name }) => name === "typed_config");
  const isConfigured =
    valueOf("typed_config", "typedConfig") !== undefined ||
    valueOf("config_discovery", "configDiscovery") !== undefined;
  return isExtension && !isConfigured ? [...inner, JSON.stringify(fields["name"] ?? "")] : inner;
}
