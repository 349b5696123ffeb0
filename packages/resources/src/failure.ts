/**
 * A resource that could not be generated, or a group of them. Plain data. It takes the place of the resources in their
 * set, so that whoever holds the last good ones can keep them.
 */
export interface Failure {
  /** Name of the resource, or with `match` what the names of the resources start or end with. */
  readonly name: string;
  /** Default: the name is the whole name. */
  readonly match?: "start" | "end";
  /** The parts of the resource that are missing, if it was generated without them. */
  readonly part?: FailedPart;
  /** The objects that the resource is built from, as far as they are known: `VirtualService shop/cart`. */
  readonly objects: readonly string[];
  readonly message: string;
}

/** Parts of a resource, such as virtual hosts of a route configuration, by name. */
export interface FailedPart {
  /** Name of the part, or with `match` what the names of the parts start or end with. */
  readonly name: string;
  readonly match?: "start" | "end";
  /** True if the resource has other parts with these names instead. Default: they are missing. */
  readonly replaced?: true;
}

/** Reports whether a resource or part with this name has failed. */
export function hasFailed({ name: failed, match }: Pick<FailedPart, "name" | "match">, name: string): boolean {
  if (match === undefined) return name === failed;
  return match === "start" ? name.startsWith(failed) : name.endsWith(failed);
}

/** Returns a failure that is described in one line: the resource and its part, the objects and the error. */
export function formatFailure({ name, match, part, objects, message }: Failure): string {
  const of = objects.length === 0 ? "" : ` of ${objects.join(", ")}`;
  const within = part === undefined ? "" : `, part ${pattern(part)}`;
  return `${pattern({ name, ...(match && { match }) })}${within}${of}: ${message}`;
}

function pattern({ name, match }: FailedPart): string {
  return match === undefined ? name : match === "start" ? `${name}*` : `*${name}`;
}

/** Reports whether two lists of failures are equal. */
export function sameFailures(a: readonly Failure[], b: readonly Failure[]): boolean {
  return a.length === b.length && a.every((failure, i) => JSON.stringify(failure) === JSON.stringify(b[i]));
}
