import type { DryRun, Query, View } from "@istiod/incremental";
import {
  difference,
  type Difference,
  type Failure,
  formatFailure,
  type Resource,
  ResourceSet,
} from "@istiod/resources";
import { reasonOf } from "@istiod/runtime";
import type { Connection, Subscription } from "@istiod/xds-server";

export interface EffectSources<C> {
  /** Returns the view of a stream's client; undefined if it has none. */
  viewOf(connection: Connection): View<C> | undefined;
  readonly generators: Readonly<Record<string, Query<void, ResourceSet>>>;
  readonly lookups: Readonly<Record<string, Query<string, Resource | undefined>>>;
}

/** The effect of an object on a client's resources of one type. */
export interface Effect {
  /** Resources that would differ or not exist without the object. */
  readonly changed: readonly Resource[];
  /** Names of resources that would exist without it. */
  readonly removed: readonly string[];
  /** Resources that cannot be generated with the object, and can be without it. */
  readonly failed: readonly Failure[];
}

/** The sets of one type with and without the object, and their difference. */
interface Comparison extends Difference {
  readonly withObject: ResourceSet;
  /** Undefined if the set cannot be computed without the object. */
  readonly withoutObject: ResourceSet | undefined;
  readonly failed: readonly Failure[];
}

/** The effects of an object on clients, found by a dry run without it. Valid until the next commit. */
export class Effects<C> {
  readonly #sources: EffectSources<C>;
  readonly #without: DryRun<C>;
  readonly #comparisons = new Map<string, Map<string, Comparison | undefined>>();

  constructor(sources: EffectSources<C>, without: DryRun<C>) {
    this.#sources = sources;
    this.#without = without;
  }

  /** Yields the comparisons of all streams and types as steps. Once they are done, `on` returns quickly. */
  *steps(connections: readonly Connection[]): Generator<() => void> {
    for (const connection of connections) {
      for (const subscription of connection.subscriptions) yield () => void this.on(connection, subscription);
    }
  }

  /** Returns the effect on the resources that a stream subscribes to; undefined if there is none. */
  on(connection: Connection, { typeUrl, wildcard, names }: Subscription): Effect | undefined {
    const view = this.#sources.viewOf(connection);
    const comparison = view && this.#compare(connection, view, typeUrl);
    if (view === undefined || comparison === undefined) return undefined;
    const covers = (name: string): boolean => wildcard || names.has(name);
    const changed = comparison.changed.filter(({ name }) => covers(name));
    const removed = comparison.removed.filter(covers);
    const failed = [...comparison.failed];
    const lookup = this.#sources.lookups[typeUrl];
    for (const name of lookup === undefined ? [] : names.outside(comparison.withObject)) {
      if (lookup === undefined || comparison.withoutObject?.has(name) === true) continue;
      const [withObject, failure] = attempt(() => view.call(lookup, name), name);
      const [withoutObject, failureWithout] = attempt(() => this.#without.call(view, lookup, name), name);
      const failures = failure === undefined ? (withObject?.failures ?? []) : [failure];
      if (failureWithout === undefined) failed.push(...newFailures(failures, withoutObject?.failures ?? []));
      if (withObject?.version === withoutObject?.version) continue;
      if (withObject !== undefined) changed.push(withObject);
      else removed.push(name);
    }
    return changed.length + removed.length + failed.length === 0 ? undefined : { changed, removed, failed };
  }

  #compare(connection: Connection, view: View<C>, typeUrl: string): Comparison | undefined {
    let types = this.#comparisons.get(connection.id);
    if (types === undefined) this.#comparisons.set(connection.id, (types = new Map()));
    if (!types.has(typeUrl)) types.set(typeUrl, this.#computeComparison(view, typeUrl));
    return types.get(typeUrl);
  }

  #computeComparison(view: View<C>, typeUrl: string): Comparison | undefined {
    const generator = this.#sources.generators[typeUrl];
    if (generator === undefined) return undefined;
    const [withObject, failure] = attempt(() => view.call(generator), "");
    const [withoutObject] = attempt(() => this.#without.call(view, generator), "");
    if (withObject === undefined) {
      const failed = withoutObject === undefined || failure === undefined ? [] : [failure];
      return { withObject: ResourceSet.empty, withoutObject, changed: [], removed: [], failed };
    }
    if (withoutObject === undefined)
      return { withObject, withoutObject, changed: withObject.toArray(), removed: [], failed: [] };
    const changes = withoutObject === withObject ? noDifference : difference(withoutObject, withObject);
    const failed = newFailures(withObject.failures(), withoutObject.failures());
    return { withObject, withoutObject, ...changes, failed };
  }
}

const noDifference: Difference = { changed: [], removed: [] };

/**
 * Returns a result, or the failure of the query. A query that fails without the object needs it. If a query fails with
 * the object, the client keeps its last good state.
 */
function attempt<R>(call: () => R, name: string): readonly [R | undefined, Failure?] {
  try {
    return [call()];
  } catch (error) {
    return [undefined, { name, objects: [], message: reasonOf(error) }];
  }
}

/** Returns the failures that others do not have. */
function newFailures(failures: readonly Failure[], others: readonly Failure[]): readonly Failure[] {
  const known = new Set(others.map(formatFailure));
  return failures.filter((failure) => !known.has(formatFailure(failure)));
}
