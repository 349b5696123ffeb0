import type { JsonObject } from "../storage/object.js";

/** One version of a type. */
export interface ServedVersion {
  readonly name: string;
  readonly hasStatus: boolean;
  /** `openAPIV3Schema` of a custom resource. Undefined: objects are stored as they are. */
  readonly schema?: JsonObject;
}

/** A type of objects that the server serves, in all of its versions. */
export interface ServedType {
  /** Empty for the core group. */
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** Served versions, the preferred one first. */
  readonly versions: readonly ServedVersion[];
  /** Reports whether a change of the specification increments `metadata.generation`. */
  readonly hasGeneration: boolean;
  /** Custom resources are those of a CustomResourceDefinition. */
  readonly isCustom: boolean;
}

/** Returns the name of a type in messages and of a CRD: `plural.group`. */
export function qualifiedResource({ group, plural }: Pick<ServedType, "group" | "plural">): string {
  return group === "" ? plural : `${plural}.${group}`;
}

/** A type in one of its versions. */
export interface TypeInVersion {
  readonly type: ServedType;
  readonly version: ServedVersion;
}
