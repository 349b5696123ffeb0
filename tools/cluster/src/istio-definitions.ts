import { istioKinds } from "@istiod/config-schema";
import { customResourceDefinitions } from "./custom-resource-definitions.js";

/** Returns a List of definitions of Istio's kinds. They accept every object: istiod validates what it reads. */
export function istioDefinitions(): object {
  const kinds = istioKinds.map(({ group, kind, versions }) => ({
    group,
    versions,
    kind,
    plural: pluralOf(kind),
    namespaced: true,
  }));
  return { apiVersion: "v1", kind: "List", items: customResourceDefinitions(kinds) };
}

function pluralOf(kind: string): string {
  const name = kind.toLowerCase();
  return name.endsWith("y") && !name.endsWith("ay") ? `${name.slice(0, -1)}ies` : `${name}s`;
}
