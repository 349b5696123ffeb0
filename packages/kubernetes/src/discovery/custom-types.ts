import type { ResourceType } from "../resource-type.js";
import type { FieldTree } from "../decoding/projection.js";

/** A CustomResourceDefinition, reduced to the fields that say what it serves. */
export interface CustomResourceDefinition {
  readonly metadata?: { readonly name?: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: {
    readonly group?: string;
    readonly scope?: string;
    readonly names?: { readonly kind?: string; readonly plural?: string };
    readonly versions?: readonly { readonly name?: string; readonly served?: boolean }[];
  };
  readonly status?: { readonly conditions?: readonly { readonly type?: string; readonly status?: string }[] };
}

export const customResourceDefinitions: ResourceType = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};

export const definitionFields: FieldTree = {
  metadata: { annotations: true },
  spec: {
    group: true,
    scope: true,
    names: { kind: true, plural: true },
    versions: { name: true, served: true },
  },
  status: { conditions: { type: true, status: true } },
};

/** Returns the types that a definition serves, newest first as it lists them; none before it is established. */
export function typesOfDefinition({ spec, status }: CustomResourceDefinition): readonly ResourceType[] {
  const isEstablished = status?.conditions?.some(
    ({ type, status: value }) => type === "Established" && value === "True",
  );
  const { group = "", scope, names, versions = [] } = spec ?? {};
  const { kind, plural } = names ?? {};
  if (isEstablished !== true || kind === undefined || plural === undefined) return [];
  return versions.flatMap(({ name: version, served }) =>
    version === undefined || served !== true
      ? []
      : [{ group, version, kind, plural, namespaced: scope === "Namespaced" }],
  );
}
