import { stringify } from "yaml";
import type { CustomResourceDefinition } from "./custom-resource-definitions.js";

type Definition = Pick<CustomResourceDefinition, "spec">;

/**
 * Returns the templates by which charts grant and select the defined kinds: `istio.configurationRead` and
 * `istio.configurationStatus` are rules of a ClusterRole, `istio.configurationRules` those of a webhook or policy.
 */
export function configurationRules(definitions: readonly Definition[]): string {
  const pluralsOf = new Map<string, string[]>();
  for (const { spec } of definitions)
    pluralsOf.set(spec.group, [...(pluralsOf.get(spec.group) ?? []), spec.names.plural]);
  const groups = [...pluralsOf].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const rules = (resourceOf: (plural: string) => string, verbs: readonly string[]) =>
    groups.map(([group, plurals]) => ({ apiGroups: [group], resources: plurals.toSorted().map(resourceOf), verbs }));
  return [
    "{{- /* Generated from the options istiod.crd.resource in proto/ into each chart. */ -}}\n",
    define(
      "istio.configurationRead",
      rules((plural) => plural, ["get", "list", "watch"]),
    ),
    define(
      "istio.configurationStatus",
      rules((plural) => `${plural}/status`, ["patch"]),
    ),
    define("istio.configurationRules", [
      {
        apiGroups: groups.map(([group]) => group),
        apiVersions: ["*"],
        operations: ["CREATE", "UPDATE"],
        resources: ["*"],
      },
    ]),
  ].join("");
}

function define(name: string, rules: readonly object[]): string {
  return `{{- define "${name}" -}}\n${stringify(rules).trimEnd()}\n{{- end -}}\n`;
}
