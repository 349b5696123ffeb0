import type { ExplainedFact, ExplainedQuery, ExplainedRead, Explanation } from "@istiod/incremental";
import { type Resource, ResourceSet } from "@istiod/resources";
import { originalOf } from "@istiod/xds-generators";

/** The query that produced a resource, with everything that it called, read and asked. */
export interface Producer {
  readonly query: ExplainedQuery;
  /** In order of first reading, without repetition. */
  readonly queries: readonly ExplainedQuery[];
  readonly reads: readonly ExplainedRead[];
  readonly facts: readonly ExplainedFact[];
}

/** Finds the producers of resources in an explanation of the query that returned all of them. */
export class ProducerIndex {
  readonly #byResource = new Map<string, ExplainedQuery>();
  readonly #lists: { readonly query: ExplainedQuery; readonly size: number; has(resource: Resource): boolean }[] = [];

  constructor(explanation: Explanation) {
    for (const query of explanation.queries) this.#add(query);
    this.#lists.sort((a, b) => a.size - b.size);
  }

  /** Returns the query that returned the resource itself, else the one that returned the smallest list with it. */
  producerOf(resource: Resource): Producer | undefined {
    const direct = this.#byResource.get(identity(resource));
    if (direct !== undefined) return producerFrom(direct);
    const list = this.#lists.find(({ has }) => has(resource));
    // A patched resource is built from the original and from its patches.
    const original = originalOf(resource);
    return list && producerFrom(list.query, original === undefined ? [resource] : [resource, original]);
  }

  #add(query: ExplainedQuery): void {
    const { result } = query;
    if (isResource(result)) {
      const id = identity(result);
      if (!this.#byResource.has(id)) this.#byResource.set(id, query);
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
}

/** Collects everything below a query. With `only`, calls that produced only other resources are skipped. */
export function producerFrom(root: ExplainedQuery, only?: readonly Resource[]): Producer {
  const queries = new Set<ExplainedQuery>();
  const reads = new Set<ExplainedRead>();
  const facts = new Set<ExplainedFact>();
  const visit = (node: ExplainedQuery | ExplainedFact): void => {
    node.reads.forEach((read) => reads.add(read));
    for (const fact of node.facts) {
      if (facts.has(fact)) continue;
      facts.add(fact);
      visit(fact);
    }
    for (const query of node.calls) {
      if (queries.has(query) || (only !== undefined && producesOthers(query.result, only))) continue;
      queries.add(query);
      visit(query);
    }
  };
  queries.add(root);
  visit(root);
  return { query: root, queries: [...queries], reads: [...reads], facts: [...facts] };
}

function producesOthers(result: unknown, wanted: readonly Resource[]): boolean {
  if (isResource(result)) return !wanted.some((each) => identity(result) === identity(each));
  return result instanceof ResourceSet && !wanted.some(({ name, version }) => result.get(name)?.version === version);
}

/** Reports whether a query's result is a resource. */
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
