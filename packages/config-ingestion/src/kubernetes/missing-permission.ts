import type { ResourceType } from "@istiod/kubernetes";

/** A type that may not be listed and watched. */
export interface MissingPermission {
  readonly resource: ResourceType;
  /** Undefined: all namespaces, or the whole cluster. */
  readonly namespace: string | undefined;
  /** The answer of the API server. */
  readonly error: Error;
}

/** Describes missing permissions, with the RBAC rules to add. */
export function describeMissing(missing: readonly MissingPermission[]): string {
  const faults = missing.map(({ resource, namespace, error }) => {
    const name = resource.group === "" ? resource.plural : `${resource.plural}.${resource.group}`;
    return `list and watch of ${name} ${placeOf(namespace)} is forbidden (${error.message})`;
  });
  const namespace = missing.find((one) => one.namespace !== undefined)?.namespace;
  const role = namespace === undefined ? "a ClusterRole" : `a Role in namespace ${namespace}`;
  return `${faults.join("; ")}; add these rules to ${role} that is bound to istiod's ServiceAccount:\n${rulesFor(missing)}`;
}

function placeOf(namespace: string | undefined): string {
  return namespace === undefined ? "in the cluster" : `in namespace ${namespace}`;
}

function rulesFor(missing: readonly MissingPermission[]): string {
  const resources = new Map<string, string[]>();
  for (const { resource } of missing)
    resources.set(resource.group, [...(resources.get(resource.group) ?? []), resource.plural]);
  return [...resources]
    .map(
      ([group, plurals]) =>
        `- apiGroups: ${JSON.stringify([group])}\n  resources: ${JSON.stringify(plurals)}\n  verbs: ["get","list","watch"]`,
    )
    .join("\n");
}
