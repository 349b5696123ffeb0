import type { ResourceSet } from "@istiod/resources";

/** A live view of the names of a subscription. */
export interface SubscribedNames extends Iterable<string> {
  readonly size: number;
  has(name: string): boolean;
  /** Iterates over the names that are not in the set. Cheap for the set that was sent last. */
  outside(set: ResourceSet): Iterable<string>;
}
