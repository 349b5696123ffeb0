import { istioKinds, type Kind } from "@istiod/config-schema";
import type { ResourceType } from "@istiod/kubernetes";

/** Returns the types of kinds as an API server serves them, in all their versions. */
export function typesOf(kinds: readonly Kind[]): readonly ResourceType[] {
  return kinds.flatMap(({ group, kind, versions, scope }) =>
    versions.map((version) => ({
      group,
      version,
      kind,
      plural: pluralOf(kind.toLowerCase()),
      namespaced: scope === "namespaced",
    })),
  );
}

/** The types of Istio's own kinds. */
export const istioTypes: readonly ResourceType[] = typesOf(istioKinds);

function pluralOf(name: string): string {
  if (name.endsWith("s")) return `${name}es`;
  return /[^aeiou]y$/.test(name) ? `${name.slice(0, -1)}ies` : `${name}s`;
}
