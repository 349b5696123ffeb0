import type { Database, View } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import { type Resource, ResourceSet } from "@istiod/resources";
import { formatFieldPath, trialOf } from "./field-paths.js";
import { collectionNamed, type ObjectRead, valueOf } from "./made-from.js";
import { isResource, type Maker } from "./maker.js";

/** What became of trying an object: whether the resource would differ without it, and without which of its fields. */
export interface Effect {
  readonly mattered: boolean;
  /** Fields without which the resource would be another: `spec.http[0].timeout`. */
  readonly fields: readonly string[];
  /** Not every field was tried. */
  readonly incomplete?: true;
}

/** How often the resource may be computed again: all tries of one explanation together. */
export interface Budget {
  tries: number;
}

/**
 * Finds by trying, never by declaration, what of an object a resource was made from: the resource is computed as it
 * would be if the object were not there, and then without each of its fields, and compared. Nothing is changed by it.
 * Two fields of which each alone makes no difference are not found. Undefined where the budget is used up.
 */
export function effectOf(
  database: Database<Proxy>,
  view: View<Proxy>,
  { query }: Maker,
  resource: Resource,
  object: ObjectRead,
  budget: Budget,
): Effect | undefined {
  const collection = collectionNamed(object.kind);
  const value = valueOf(database, object);
  if (collection === undefined || value === undefined) return undefined;
  const spent = { all: false };
  const outcome = (changed: unknown): "same" | "other" | "error" => {
    if (budget.tries <= 0) {
      spent.all = true;
      return "same";
    }
    budget.tries--;
    try {
      const dryRun = database.dryRun((tx) =>
        changed === undefined ? tx.delete(collection, object.key) : tx.set(collection, object.key, changed),
      );
      return versionIn(dryRun.call(view, query.definition, query.arg as never), resource.name) === resource.version
        ? "same"
        : "other";
    } catch {
      return "error";
    }
  };
  const gone = outcome(undefined) !== "same";
  if (spent.all) return undefined;
  const trial = trialOf(value);
  const fields: string[] = [];
  const search = (path: readonly (string | number)[]): boolean => {
    const changed = attempt(() => trial.without(path));
    const found = changed === undefined ? "same" : outcome(changed);
    if (found === "same") return false;
    const inner = trial.below(path).filter(search);
    // An object that no query expects says nothing: only what is inside of it can.
    if (inner.length === 0 && found === "other") fields.push(formatFieldPath(path));
    return inner.length > 0 || found === "other";
  };
  trial.below([]).forEach(search);
  return { mattered: gone || fields.length > 0, fields, ...(spent.all ? { incomplete: true as const } : {}) };
}

function attempt(make: () => unknown): unknown {
  try {
    return make();
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
