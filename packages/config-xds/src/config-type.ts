import { istioKinds, type Kind } from "@istiod/config-schema";

/** A type of configuration objects, in one version of its API. */
export interface ConfigType {
  readonly kind: Kind;
  readonly version: string;
}

/** Type URL of the mesh configuration. Its only resource is a `MeshConfig`, which has no name. */
export const meshConfigType = "core/v1alpha1/MeshConfig";

/** Returns the type URL of a kind's objects, for example `networking.istio.io/v1/VirtualService`. */
export function configTypeUrl({ kind, version }: ConfigType): string {
  return `${kind.group}/${version}/${kind.kind}`;
}

/** Returns the types to request: each of Istio's kinds in its newest version. */
export function configTypes(): readonly ConfigType[] {
  return istioKinds.flatMap((kind) => kind.versions.slice(0, 1).map((version) => ({ kind, version })));
}

const byTypeUrl = new Map<string, ConfigType>(
  istioKinds.flatMap((kind) =>
    kind.versions.map((version) => [configTypeUrl({ kind, version }), { kind, version }] as const),
  ),
);

/** Returns the type of a URL; undefined if it is no type of Istio's configuration objects. */
export function findConfigType(typeUrl: string): ConfigType | undefined {
  return byTypeUrl.get(typeUrl);
}
