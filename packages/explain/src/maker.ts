import type { ExplainedFact, ExplainedQuery, ExplainedRead, Explanation } from "@istiod/incremental";
import { type Resource, ResourceSet } from "@istiod/resources";

/** The part of a computation that made one resource. */
export interface Maker {
  readonly query: ExplainedQuery;
  /** In order of first reading, without repetition. */
  readonly queries: readonly ExplainedQuery[];
  readonly reads: readonly ExplainedRead[];
  readonly facts: readonly ExplainedFact[];
}

/**
 * Finds by the records which query made a resource: the one that gave it, else the one that gave the smallest list with
 * it.
 */
export class Makers {
  readonly #direct = new Map<string, ExplainedQuery>();
  readonly #lists: { readonly query: ExplainedQuery; readonly size: number; has(resource: Resource): boolean }[] = [];

  constructor(explanation: Explanation) {
    for (const query of explanation.queries) {
      const { result } = query;
      if (isResource(result)) {
        const id = identity(result);
        if (!this.#direct.has(id)) this.#direct.set(id, query);
      } else if (result instanceof ResourceSet) {
        this.#lists.push({
          query,
          size: result.size,
          has: ({ name, version }) => result.get(name)?.version === version,
        });
      } else if (Array.isArray(result) && isResource(result[0])) {
        const ids = new Set((result as readonly unknown[]).filter(isResource).map(identity));
        this.#lists.push({ query, size: ids.size, has: (resource) => ids.has(identity(resource)) });
      }
    }
    this.#lists.sort((a, b) => a.size - b.size);
  }

  of(resource: Resource): Maker | undefined {
    const direct = this.#direct.get(identity(resource));
    const query = direct ?? this.#lists.find((list) => list.has(resource))?.query;
    return query && walk(query, direct === undefined ? resource : undefined);
  }
}

/** Everything below a query; without what made other resources only, where one of a list is meant. */
export function walk(root: ExplainedQuery, only?: Resource): Maker {
  const queries = new Set<ExplainedQuery>();
  const reads = new Set<ExplainedRead>();
  const facts = new Set<ExplainedFact>();
  const visit = (part: ExplainedQuery | ExplainedFact): void => {
    part.reads.forEach((read) => reads.add(read));
    for (const fact of part.facts) {
      if (facts.has(fact)) continue;
      facts.add(fact);
      visit(fact);
    }
    for (const query of part.calls) {
      if (queries.has(query) || (only !== undefined && makesOthers(query.result, only))) continue;
      queries.add(query);
      visit(query);
    }
  };
  queries.add(root);
  visit(root);
  return { query: root, queries: [...queries], reads: [...reads], facts: [...facts] };
}

function makesOthers(result: unknown, wanted: Resource): boolean {
  if (isResource(result)) return identity(result) !== identity(wanted);
  return result instanceof ResourceSet && result.get(wanted.name)?.version !== wanted.version;
}

export function isResource(value: unknown): value is Resource {
  return (
    typeof value === "object" &&
    value !== null &&
    "version" in value &&
    "bytes" in value &&
    "name" in value &&
    value.bytes instanceof Uint8Array
  );
}

function identity({ name, version }: Resource): string {
  return `${name} ${version}`;
}
