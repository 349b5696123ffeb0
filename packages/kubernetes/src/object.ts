import { ApiError } from "./api-error.js";
import { apiVersionOf, type ResourceType } from "./resource-type.js";

/** Metadata of an object. Other fields are allowed and kept. */
export interface ObjectMeta {
  readonly name?: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly managedFields?: readonly ManagedFields[];
  readonly [field: string]: unknown;
}

/** The fields that one manager owns, from `metadata.managedFields`. */
export interface ManagedFields {
  readonly manager?: string;
  readonly operation?: string;
  readonly subresource?: string;
  readonly fieldsV1?: object;
}

/** An object of any type. */
export interface KubernetesObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
}

/** The name of an object of a known type. */
export interface ObjectName {
  /** Absent for cluster-scoped types. */
  readonly namespace?: string;
  readonly name: string;
}

/** Returns the name of an object for messages: `Secret istio-system/cacerts`. */
export function describeObject(type: ResourceType, { namespace, name }: Partial<ObjectName>): string {
  return `${type.kind} ${namespace === undefined ? "" : `${namespace}/`}${name ?? "without a name"}`;
}

/**
 * Returns the name of an object, or undefined as its name if the server generates one.
 *
 * @throws ApiError `invalid` if the name or the namespace of a namespaced type is missing, if a cluster-scoped object
 *   has a namespace, or if apiVersion or kind are those of another type
 */
export function nameOf(type: ResourceType, object: KubernetesObject): ObjectName {
  const { name, namespace } = object.metadata ?? {};
  const invalid = (reason: string): ApiError =>
    new ApiError("invalid", `${describeObject(type, object.metadata ?? {})}: ${reason}`);
  if (!name) throw invalid("metadata.name is required");
  if (object.apiVersion !== undefined && object.apiVersion !== apiVersionOf(type))
    throw invalid(`apiVersion is ${object.apiVersion}, expected ${apiVersionOf(type)}`);
  if (object.kind !== undefined && object.kind !== type.kind)
    throw invalid(`kind is ${object.kind}, expected ${type.kind}`);
  checkNamespace(type, { name, ...(namespace !== undefined && { namespace }) });
  return { name, ...(namespace !== undefined && { namespace }) };
}

/** Checks that a name has a namespace exactly if its type is namespaced. @throws ApiError `invalid` */
export function checkNamespace(type: ResourceType, name: Partial<ObjectName>): void {
  if (type.namespaced && !name.namespace)
    throw new ApiError("invalid", `${describeObject(type, name)}: metadata.namespace is required`);
  if (!type.namespaced && name.namespace !== undefined)
    throw new ApiError("invalid", `${describeObject(type, name)}: metadata.namespace is set, but the type has none`);
}
