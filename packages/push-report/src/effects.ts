import type { Query, DryRun, View } from "@istiod/incremental";
import { difference, type Difference, type Resource, type ResourceSet } from "@istiod/resources";
import type { Connection, Subscription } from "@istiod/xds-server";

export interface EffectSources<C> {
  /** The mesh as a stream sees it. */
  viewOf(connection: Connection): View<C> | undefined;
  readonly generators: Readonly<Record<string, Query<void, ResourceSet>>>;
  readonly lookups: Readonly<Record<string, Query<string, Resource | undefined>>>;
}

/** What an object does to a client's resources of one type. */
export interface Effect {
  /** Resources that would be others, or not there, without the object. */
  readonly made: readonly Resource[];
  /** Names that would be there without it. */
  readonly removed: readonly string[];
}

/**
 * The sets of one type now, and without the object, and what differs; `then` is undefined where it could not be
 * computed without it.
 */
interface Compared extends Difference {
  readonly now: ResourceSet;
  readonly then: ResourceSet | undefined;
}

/**
 * The effects of an object on clients, by a dry run without it: for each stream and type once, until the next commit.
 */
export class Effects<C> {
  readonly #sources: EffectSources<C>;
  readonly #without: DryRun<C>;
  readonly #compared = new Map<string, Map<string, Compared | undefined>>();

  constructor(sources: EffectSources<C>, without: DryRun<C>) {
    this.#sources = sources;
    this.#without = without;
  }

  /** The work that can be done beforehand, so that `on` has little to do: one step for each stream and type. */
  *asked(connections: readonly Connection[]): Generator<() => void> {
    for (const connection of connections) {
      for (const subscription of connection.subscriptions) yield () => void this.on(connection, subscription);
    }
  }

  /** What the object does to the resources that a stream subscribes to now; undefined: nothing. */
  on(connection: Connection, { typeUrl, wildcard, names }: Subscription): Effect | undefined {
    const view = this.#sources.viewOf(connection);
    const compared = view && this.#compare(connection, view, typeUrl);
    if (view === undefined || compared === undefined) return undefined;
    const covers = (name: string): boolean => wildcard || names.has(name);
    const made = compared.changed.filter(({ name }) => covers(name));
    const removed = compared.removed.filter(covers);
    const lookup = this.#sources.lookups[typeUrl];
    for (const name of lookup === undefined ? [] : names.outside(compared.now)) {
      if (lookup === undefined || compared.then?.has(name) === true) continue;
      const found = attempt(() => view.call(lookup, name));
      const would = attempt(() => this.#without.call(view, lookup, name));
      if (found?.version === would?.version) continue;
      if (found !== undefined) made.push(found);
      else removed.push(name);
    }
    return made.length + removed.length === 0 ? undefined : { made, removed };
  }

  #compare(connection: Connection, view: View<C>, typeUrl: string): Compared | undefined {
    let types = this.#compared.get(connection.id);
    if (types === undefined) this.#compared.set(connection.id, (types = new Map()));
    if (!types.has(typeUrl)) types.set(typeUrl, this.#compareNow(view, typeUrl));
    return types.get(typeUrl);
  }

  #compareNow(view: View<C>, typeUrl: string): Compared | undefined {
    const generator = this.#sources.generators[typeUrl];
    const now = generator && attempt(() => view.call(generator));
    if (generator === undefined || now === undefined) return undefined;
    const then = attempt(() => this.#without.call(view, generator));
    if (then === undefined) return { now, then, changed: now.toArray(), removed: [] };
    return { now, then, ...(then === now ? nothing : difference(then, now)) };
  }
}

const nothing: Difference = { changed: [], removed: [] };

/**
 * A query that fails without the object is one that needs it; one that fails with it gives nothing, and what the client
 * has stands.
 */
function attempt<R>(call: () => R): R | undefined {
  try {
    return call();
  } catch {
    return undefined;
  }
}
