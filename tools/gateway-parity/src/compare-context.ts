import type { Type } from "@istiod/parity";
import type { StoredObject } from "./api-objects.js";

/** A type of resources, or statuses. */
export type ComparedType = Type | "status";

export interface CompareContext {
  /** The name of the resource; of a status, `KIND namespace/name`. */
  readonly name: string;
  /** The objects that both control planes read. */
  readonly objects: readonly StoredObject[];
}
/** Returns the objects of a kind. */
export const ofKind = ({ objects }: CompareContext, kind: string): readonly StoredObject[] =>
  objects.filter((each) => each.kind === kind);
