/** A type of Kubernetes objects in one of its served versions. */
export interface ResourceType {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  /** For example `VirtualService`. */
  readonly kind: string;
  /** Name of the resource in paths, for example `virtualservices`. */
  readonly plural: string;
  readonly namespaced: boolean;
}

export interface ResourcePathOptions {
  /** Default: all namespaces. Only for namespaced types. */
  readonly namespace?: string;
  /** Default: the collection. */
  readonly name?: string;
  /** For example `status`. */
  readonly subresource?: string;
}

/** Returns the path of a collection, an object or a subresource on an API server. */
export function resourcePath(type: ResourceType, { namespace, name, subresource }: ResourcePathOptions = {}): string {
  const segments = type.group === "" ? ["api", type.version] : ["apis", type.group, type.version];
  if (type.namespaced && namespace !== undefined) segments.push("namespaces", namespace);
  segments.push(type.plural);
  if (name !== undefined) segments.push(name);
  if (subresource !== undefined) segments.push(subresource);
  return `/${segments.map(encodeURIComponent).join("/")}`;
}

/** Returns the apiVersion of a type's objects: `v1`, or `group/version`. */
export function apiVersionOf({ group, version }: Pick<ResourceType, "group" | "version">): string {
  return group === "" ? version : `${group}/${version}`;
}
