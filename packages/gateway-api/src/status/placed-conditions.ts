import type { FieldPath } from "@istiod/config-schema";
import type { StatusCondition } from "./conditions.js";
import type { ObjectStatus } from "./object-status.js";

/** A condition of an object, and what of the object it is about. */
export interface PlacedCondition extends StatusCondition {
  /** `listener http`, `parent Gateway web`, `ancestor Service cart`, or empty for the object itself. */
  readonly place: string;
  /** The field of the object that the place is: a listener, or a reference. Empty for the object itself. */
  readonly path: FieldPath;
}

interface Reference {
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly sectionName?: string;
  readonly port?: number;
}

/** The fields of a spec that places and conditions of a status are about. */
export interface PlacesOfSpec {
  readonly listeners?: readonly { readonly name: string }[];
  readonly parentRefs?: readonly Reference[];
  readonly targetRefs?: readonly Reference[];
  readonly addresses?: readonly unknown[];
}

/** Returns all conditions of a status, with their places in the object that has a spec. */
export function placedConditions(
  { conditions = [], listeners = [], parents = [], ancestors = [] }: ObjectStatus,
  spec: PlacesOfSpec = {},
): readonly PlacedCondition[] {
  const at = (place: string, path: FieldPath, of: readonly StatusCondition[]): readonly PlacedCondition[] =>
    of.map((condition) => ({ ...condition, place, path }));
  const named = (name: string): number => spec.listeners?.findIndex((listener) => listener.name === name) ?? -1;
  return [
    ...at("", [], conditions),
    ...listeners.flatMap(({ name, conditions: own }) => at(`listener ${name}`, pathOf("listeners", named(name)), own)),
    ...parents.flatMap(({ parentRef, conditions: own }) =>
      at(`parent ${formatReference(parentRef)}`, pathOf("parentRefs", indexOf(spec.parentRefs, parentRef)), own),
    ),
    ...ancestors.flatMap(({ ancestorRef, conditions: own }) =>
      at(`ancestor ${formatReference(ancestorRef)}`, pathOf("targetRefs", indexOf(spec.targetRefs, ancestorRef)), own),
    ),
  ];
}

function pathOf(field: string, index: number): FieldPath {
  return index < 0 ? [] : ["spec", field, index];
}

function indexOf(references: readonly Reference[] = [], sought: Reference): number {
  return references.findIndex(
    (each) =>
      each.kind === sought.kind &&
      each.namespace === sought.namespace &&
      each.name === sought.name &&
      each.sectionName === sought.sectionName &&
      each.port === sought.port,
  );
}

/** Formats a reference to a parent or an ancestor. */
export function formatReference({ kind = "Gateway", namespace, name = "", sectionName, port }: Reference): string {
  const owner = namespace === undefined ? "" : `${namespace}/`;
  const section = sectionName === undefined ? "" : `, listener ${sectionName}`;
  return `${kind} ${owner}${name}${section}${port === undefined ? "" : `, port ${port}`}`;
}

/** Types of conditions that are faults where they are true. */
const faultsIfTrue = ["Conflicted", "OverlappingTLSConfig", "InsecureFrontendValidationMode"];

/** Reports whether a condition says that something is not as it is declared. */
export function isFault({ type, status }: StatusCondition): boolean {
  return status === (faultsIfTrue.includes(type) ? "True" : "False");
}

const addressReasons = ["AddressNotAssigned", "AddressNotUsable"];

/** Reports whether a condition depends on what runs: on the addresses of a Gateway's Services. */
export function isAboutAddresses({ reason }: StatusCondition): boolean {
  return addressReasons.includes(reason);
}
