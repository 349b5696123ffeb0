import type { ResourceType } from "@istiod/kubernetes";

export interface ResourceFilter {
  /** Value of `PILOT_IGNORE_RESOURCES`. Default: none are ignored. */
  readonly ignore?: string;
  /** Value of `PILOT_INCLUDE_RESOURCES`: resources that are read although they are ignored. */
  readonly include?: string;
}

/** Groups of the API server's own types, which have no CustomResourceDefinitions. */
const builtInGroups: ReadonlySet<string> = new Set([
  "",
  "admissionregistration.k8s.io",
  "apiextensions.k8s.io",
  "apps",
  "discovery.k8s.io",
  "networking.k8s.io",
]);

/**
 * Reports whether a custom resource is ignored. The lists name CustomResourceDefinitions, separated by commas, such as
 * `wasmplugins.extensions.istio.io`; `*.` stands for any beginning: `*.istio.io`. (`pkg/kube/kclient/crdwatcher.go`.)
 */
export function isIgnoredResource({ ignore = "", include = "" }: ResourceFilter, type: ResourceType): boolean {
  if (builtInGroups.has(type.group)) return false;
  const name = `${type.plural}.${type.group}`;
  return matches(ignore, name) && !matches(include, name);
}

function matches(list: string, name: string): boolean {
  return list
    .split(",")
    .map((item) => item.trim())
    .some((item) => (item.startsWith("*.") ? name.endsWith(item.slice(2)) : item === name));
}
