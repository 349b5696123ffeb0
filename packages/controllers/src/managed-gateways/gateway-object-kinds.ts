import type { ResourceType } from "@istiod/kubernetes";

/** A kind of the objects of a managed gateway. */
export interface GatewayObjectKind {
  readonly type: ResourceType;
  /** Key of its customization in ConfigMaps. */
  readonly overlay: string;
  /** Objects of it exist only if they are customized. */
  readonly needsOverlay: boolean;
}

/** The kinds of the objects of a managed gateway. Templates that render others are rejected. */
export const gatewayObjectKinds = [
  kind("", "v1", "ServiceAccount", "serviceaccounts", "serviceAccount"),
  kind("apps", "v1", "Deployment", "deployments", "deployment"),
  kind("", "v1", "Service", "services", "service"),
  kind("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "horizontalPodAutoscaler", true),
  kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "podDisruptionBudget", true),
] as const satisfies readonly GatewayObjectKind[];

/** Keys of customizations. */
export const overlayKeys: readonly string[] = gatewayObjectKinds.map(({ overlay }) => overlay);

function kind(
  group: string,
  version: string,
  name: string,
  plural: string,
  overlay: string,
  needsOverlay = false,
): GatewayObjectKind {
  return { type: { group, version, kind: name, plural, namespaced: true }, overlay, needsOverlay };
}

/** Returns the kind of an object by its `apiVersion` and `kind`; undefined for all others. */
export function gatewayObjectKind(apiVersion: unknown, kindName: unknown): GatewayObjectKind | undefined {
  return gatewayObjectKinds.find(
    ({ type }) =>
      type.kind === kindName && (type.group ? `${type.group}/${type.version}` : type.version) === apiVersion,
  );
}
