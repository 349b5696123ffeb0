/** A kind of custom resources. */
export interface CustomResourceKind {
  readonly group: string;
  /** Served versions, the stored one first. */
  readonly versions: readonly string[];
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

/** Required of definitions in groups of Kubernetes. */
const annotations = { "api-approved.kubernetes.io": "unapproved, for tests" };

/**
 * Returns CustomResourceDefinitions that accept every object of the kinds, with a status subresource. The real ones
 * validate and have defaults; these are for tests about other things.
 */
export function customResourceDefinitions(kinds: readonly CustomResourceKind[]): readonly object[] {
  return kinds.map(({ group, versions, kind, plural, namespaced }) => ({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}`, ...(/(?:^|\.)(?:k8s|kubernetes)\.io$/.test(group) && { annotations }) },
    spec: {
      group,
      scope: namespaced ? "Namespaced" : "Cluster",
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: versions.map((name, index) => ({
        name,
        served: true,
        storage: index === 0,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      })),
    },
  }));
}
