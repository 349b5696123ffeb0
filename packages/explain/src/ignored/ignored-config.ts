/** A reference to an object by kind, namespace and name. */
export interface ObjectReference {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** An object, or part of one, that is ignored where it could have affected a resource. */
export interface IgnoredConfig extends ObjectReference {
  /** ID of the object's cluster, for kinds of which each cluster has objects of its own. */
  readonly cluster?: string;
  /**
   * Path of the ignored part, such as `spec.servers[0]`. Absent: the whole object, or the parts that the reason names.
   */
  readonly field?: string;
  /** The object, and its field where known, that applies instead. Absent if none does. */
  readonly overriddenBy?: ObjectReference & { readonly field?: string };
  /** Predicate of a sentence whose subject is the object: `is not exported to namespace shop`. */
  readonly reason: string;
}

/** Describes the ignored object `namespace/name`. */
export function ignoredConfig(
  kind: string,
  key: string,
  reason: string,
  details: Pick<IgnoredConfig, "field" | "overriddenBy"> = {},
): IgnoredConfig {
  return { ...objectReference(kind, key), ...details, reason };
}

/** Returns the reference to the object `namespace/name`. */
export function objectReference(kind: string, key: string): ObjectReference {
  const slash = key.indexOf("/");
  return { kind, namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
