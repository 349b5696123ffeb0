/** An object, as it is written. */
export interface NamedObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** An object, or part of one, that has no effect where it might have had one. */
export interface Loss extends NamedObject {
  /** ID of the cluster that it is in, where several may have one of its name. */
  readonly cluster?: string;
  /**
   * The part that is without effect, as a path such as `spec.servers[0]`; absent: the object as a whole, or several
   * parts, as the reason says.
   */
  readonly field?: string;
  /** What has effect in its place; absent where nothing has. */
  readonly winner?: NamedObject & { readonly field?: string };
  /** Why, in words that follow the object's name. */
  readonly reason: string;
}

/** A loss of the object `namespace/name`. */
export function loss(kind: string, key: string, reason: string, more: Pick<Loss, "field" | "winner"> = {}): Loss {
  return { ...named(kind, key), ...more, reason };
}

/** The object `namespace/name`. */
export function named(kind: string, key: string): NamedObject {
  const at = key.indexOf("/");
  return { kind, namespace: key.slice(0, at), name: key.slice(at + 1) };
}
