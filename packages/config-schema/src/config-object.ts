import type { FieldPath } from "./decoding/report.js";

/**
 * An object of the mesh's configuration, reduced to the fields that are read. Its place in a file is recorded
 * elsewhere, so that moving it does not count as a change.
 */
export interface ConfigObject<S, T = undefined> {
  /** Kind without its group, such as `VirtualService`. */
  readonly kind: string;
  /** Empty for cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
  /** Labels that the kind keeps. */
  readonly labels: Readonly<Record<string, string>>;
  /** Annotations that the kind keeps. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Milliseconds since the Unix epoch. 0 if absent, which makes the object the oldest. */
  readonly creationTimestamp: number;
  /** Version by an API server, of kinds whose generated configuration names it. Empty if unknown, absent elsewhere. */
  readonly resourceVersion?: string;
  /** Generation by an API server, of kinds whose status istiod writes. Absent if unknown. */
  readonly generation?: number;
  readonly spec: S;
  readonly status?: T;
  /** Negative conditions of the status, of the types that the kind keeps. Absent if there are none. */
  readonly conditions?: readonly NegativeCondition[];
  /** ID of the cluster that the object was read from. */
  readonly cluster: string;
}

/** A status condition that is false, or that holds for a part of the object only. */
export interface NegativeCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  /** The controller that wrote it, of conditions at a parent. */
  readonly controllerName?: string;
  /** Path of the condition from the root of the object. */
  readonly path: FieldPath;
}

/** Returns the key `ns/name`, of kinds that are unique in a mesh. */
export function meshKey(object: { readonly namespace: string; readonly name: string }): string {
  return `${object.namespace}/${object.name}`;
}

/** Returns the key `cluster/ns/name`, or `cluster/name` for cluster-scoped kinds, of kinds that every cluster has. */
export function clusterKey(object: {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
}): string {
  return object.namespace === ""
    ? `${object.cluster}/${object.name}`
    : `${object.cluster}/${object.namespace}/${object.name}`;
}
