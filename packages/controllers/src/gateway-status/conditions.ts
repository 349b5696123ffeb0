import type { StatusCondition } from "@istiod/gateway-api";

/** A condition as API servers have it. Without `lastTransitionTime`, it gets the time of the write. */
export interface Condition extends Omit<StatusCondition, "status" | "notes"> {
  /** `True`, `False` or `Unknown`. */
  readonly status: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime?: string;
}

/**
 * Returns conditions with those that are desired. The time of a transition stays unless the status changes. Conditions
 * of other types stay as they are, unless their type is one that istiod would write.
 *
 * @param own types that istiod writes, desired or not
 */
export function mergeConditions(
  observed: readonly Condition[],
  desired: readonly StatusCondition[],
  { generation, own }: { readonly generation: number; readonly own: ReadonlySet<string> },
): readonly Condition[] {
  const wanted = new Map(desired.map((condition) => [condition.type, condition]));
  const kept = observed.flatMap((before): readonly Condition[] => {
    const after = wanted.get(before.type);
    if (after === undefined) return own.has(before.type) ? [] : [before];
    wanted.delete(before.type);
    return [merged(before, after, generation)];
  });
  return [...kept, ...[...wanted.values()].map((added) => ({ ...fieldsOf(added), observedGeneration: generation }))];
}

/** Returns the fields that the API has of a condition. */
function fieldsOf({ type, status, reason, message }: StatusCondition): Omit<StatusCondition, "notes"> {
  return { type, status, reason, message };
}

function merged(before: Condition, after: StatusCondition, observedGeneration: number): Condition {
  const { lastTransitionTime } = before;
  const hasTransition = before.status !== after.status || lastTransitionTime === undefined;
  return { ...fieldsOf(after), observedGeneration, ...(!hasTransition && { lastTransitionTime }) };
}
