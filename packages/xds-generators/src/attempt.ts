import { failureMessage, type ScopedService } from "@istiod/push-context";
import { type Failure, type Resource, ResourceSet } from "@istiod/resources";

/** The identity of what may fail. */
export type Attempted = Omit<Failure, "message">;

/**
 * Builds something, or returns undefined and adds its failure to a list, so that whatever else is built does not fail
 * with it. A stack overflow that depends on the callers is not a result: it is thrown.
 */
export function attempt<T>(build: () => T, failures: Failure[], identify: () => Attempted): T | undefined {
  try {
    return build();
  } catch (error) {
    failures.push({ ...identify(), message: failureMessage(error) });
    return undefined;
  }
}

/** Returns the set of the resources that are built from items; each fails alone. */
export function resourcesOf<T>(
  items: readonly T[],
  build: (item: T) => Resource | undefined,
  identify: (item: T) => Attempted,
): ResourceSet {
  const failures: Failure[] = [];
  const found: Resource[] = [];
  for (const item of items) {
    const resource = attempt(
      () => build(item),
      failures,
      () => identify(item),
    );
    if (resource !== undefined) found.push(resource);
  }
  return ResourceSet.of(found, failures);
}

/** Returns a set, or if it cannot be built, the empty set with its failure. */
export function attemptSet(build: () => ResourceSet, identify: () => Attempted): ResourceSet {
  const failures: Failure[] = [];
  return attempt(build, failures, identify) ?? ResourceSet.of([], failures);
}

/** Returns the name of a service in failures. */
export function serviceObject(id: string): string {
  return `service ${id}`;
}

/** Returns the identity of all clusters, or load assignments, of a service: their names end with its host. */
export function allOfService(separator: "|" | "_.", { service, hostname }: ScopedService): Attempted {
  return { name: `${separator}${hostname}`, match: "end", objects: [serviceObject(service)] };
}
