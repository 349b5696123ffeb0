/** An object, or part of one, that has no effect where it might have had one. */
export interface Loss {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Why, in words that follow the object's name. */
  readonly reason: string;
}

/** A loss of the object `namespace/name`. */
export function loss(kind: string, key: string, reason: string): Loss {
  const at = key.indexOf("/");
  return { kind, namespace: key.slice(0, at), name: key.slice(at + 1), reason };
}
