import type { Database, View } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import { type Resource, ResourceSet } from "@istiod/resources";
import { editableValue, type FieldPath, formatFieldPath } from "./editable-value.js";
import { collectionNamed, type ObjectRead, valueOf } from "./objects-read.js";
import { isResource, type Producer } from "./producer.js";

/** The effect of an object on a resource, found by dry runs. */
export interface Effect {
  /** True if the resource would differ without the object, or without one of its fields. */
  readonly changesResource: boolean;
  /** Paths of the fields without which the resource would differ, such as `spec.http[0].timeout`. */
  readonly fields: readonly string[];
  /** Set if the budget was exhausted before every field was tried. */
  readonly incomplete?: true;
}

/** Remaining number of dry runs, shared by all objects of one explanation. */
export interface Budget {
  tries: number;
}

/**
 * Computes the resource without the object, and then without each of its fields, and compares the results. The database
 * is not changed. If either of two fields is enough for the same result, neither is found. Undefined if the budget is
 * exhausted before the first dry run.
 */
export function effectOf(
  database: Database<Proxy>,
  view: View<Proxy>,
  { query }: Producer,
  resource: Resource,
  object: ObjectRead,
  budget: Budget,
): Effect | undefined {
  const collection = collectionNamed(object.kind);
  const value = valueOf(database, object);
  if (collection === undefined || value === undefined) return undefined;
  let exhausted = false;
  const dryRun = (edited: unknown): Outcome => {
    if (budget.tries <= 0) {
      exhausted = true;
      return "unchanged";
    }
    budget.tries--;
    try {
      const run = database.dryRun((tx) =>
        edited === undefined ? tx.delete(collection, object.key) : tx.set(collection, object.key, edited),
      );
      const version = versionIn(run.call(view, query.definition, query.arg as never), resource.name);
      return version === resource.version ? "unchanged" : "changed";
    } catch {
      return "error";
    }
  };
  const changedByDeletion = dryRun(undefined) !== "unchanged";
  if (exhausted) return undefined;
  const fields = fieldsWithEffect(value, dryRun);
  return {
    changesResource: changedByDeletion || fields.length > 0,
    fields,
    ...(exhausted ? { incomplete: true as const } : {}),
  };
}

type Outcome = "unchanged" | "changed" | "error";

/** Returns the deepest fields without which a dry run gives another result. */
function fieldsWithEffect(value: unknown, dryRun: (edited: unknown) => Outcome): readonly string[] {
  const editable = editableValue(value);
  const fields: string[] = [];
  const search = (path: FieldPath): boolean => {
    const edited = valueWithout(editable, path);
    const outcome = edited === undefined ? "unchanged" : dryRun(edited);
    if (outcome === "unchanged") return false;
    const inner = editable.fieldsBelow(path).filter(search);
    // An error only shows that queries require the field to be valid, so only the fields below it can be reported.
    if (inner.length === 0 && outcome === "changed") fields.push(formatFieldPath(path));
    return inner.length > 0 || outcome === "changed";
  };
  editable.fieldsBelow([]).forEach(search);
  return fields;
}

function valueWithout(editable: ReturnType<typeof editableValue>, path: FieldPath): unknown {
  try {
    return editable.without(path);
  } catch {
    return undefined;
  }
}

function versionIn(result: unknown, name: string): string | undefined {
  if (isResource(result)) return result.name === name ? result.version : undefined;
  if (result instanceof ResourceSet) return result.get(name)?.version;
  if (Array.isArray(result))
    return (result as unknown[]).filter(isResource).find((each) => each.name === name)?.version;
  return undefined;
}
