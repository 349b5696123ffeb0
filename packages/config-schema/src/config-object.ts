import type { FieldPath } from "./decoding/report.js";

/**
 * One object of the mesh's configuration as everything after ingestion sees it: only what something reads.
 * Where it stood in a file is kept elsewhere, so that moving it is no change.
 */
export interface ConfigObject<S, T = undefined> {
  /** Kind without its group, such as `VirtualService`. */
  readonly kind: string;
  /** Empty for cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
  /** Only the labels that the kind declares as read. */
  readonly labels: Readonly<Record<string, string>>;
  /** Only the annotations that the kind declares as read. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Milliseconds since the Unix epoch; 0 where absent, which makes the object the oldest. */
  readonly creationTimestamp: number;
  readonly spec: S;
  readonly status?: T;
  /**
   * Conditions of the status that are negative, of the types that the kind declares as read; absent where there are
   * none.
   */
  readonly conditions?: readonly NegativeCondition[];
  /** ID of the cluster that it was read from. */
  readonly cluster: string;
}

/** A condition of an object's status that is false, or that is true of a part of the object only. */
export interface NegativeCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  /** The condition's place, from the root of the object. */
  readonly path: FieldPath;
}

/** `ns/name`: the key of kinds that exist once in a mesh. */
export function meshKey(object: { readonly namespace: string; readonly name: string }): string {
  return `${object.namespace}/${object.name}`;
}

/** `cluster/ns/name`, or `cluster/name` for cluster-scoped kinds: the key of kinds that each cluster has of its own. */
export function clusterKey(object: {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
}): string {
  return object.namespace === ""
    ? `${object.cluster}/${object.name}`
    : `${object.cluster}/${object.namespace}/${object.name}`;
}
