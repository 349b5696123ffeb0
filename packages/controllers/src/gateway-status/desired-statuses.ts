import { type ObjectStatus, type StatusKind, statusKinds } from "@istiod/gateway-api";
import type { Commit, Database, Query, View } from "@istiod/incremental";
import { type Clock, monotonicClock } from "@istiod/runtime";

/** The status that an object should have, and the generation of the object that it was computed from. */
export interface ComputedStatus {
  readonly generation: number;
  readonly status: ObjectStatus;
}

/** Statuses that have changed, by kind and key. Undefined: istiod has none for the object. */
export type StatusChanges = ReadonlyMap<StatusKind, ReadonlyMap<string, ComputedStatus | undefined>>;

export interface DesiredStatusesOptions<C> {
  /** The database of the mesh. */
  readonly database: Database<C>;
  /** The client as which the statuses are computed. They do not depend on it. */
  readonly client: C;
  readonly onError: (error: unknown, object: string) => void;
  /** Default: the monotonic clock of the process. */
  readonly clock?: Clock;
}

/** Statuses that are computed without a pause, so that proxies are served meanwhile. */
const batchSize = 100;

/** The statuses of the objects of the Gateway API, computed while somebody follows them: on the leader alone. */
export class DesiredStatuses<C> {
  readonly #options: DesiredStatusesOptions<C>;

  constructor(options: DesiredStatusesOptions<C>) {
    this.#options = options;
  }

  /** Passes all statuses to a function, then those that change. Returns a function that ends this. */
  follow(changed: (changes: StatusChanges) => void): () => void {
    const following = new Following(this.#options, changed);
    following.start();
    return () => following.stop();
  }
}

class Following<C> {
  readonly #options: DesiredStatusesOptions<C>;
  readonly #changed: (changes: StatusChanges) => void;
  readonly #view: View<C>;
  readonly #clock: Clock;
  /** Keys of objects whose status may have changed. */
  readonly #pending = new Map(statusKinds.map((kind) => [kind, new Set<string>()]));
  #stopObserving: () => void = () => undefined;
  #cancel: (() => void) | undefined;

  constructor(options: DesiredStatusesOptions<C>, changed: (changes: StatusChanges) => void) {
    this.#options = options;
    this.#changed = changed;
    this.#view = options.database.view(options.client);
    this.#clock = options.clock ?? monotonicClock;
  }

  start(): void {
    for (const [{ objects }, keys] of this.#pending)
      for (const key of this.#options.database.keys(objects)) keys.add(key);
    this.#stopObserving = this.#options.database.observe({ after: (commit) => this.#onCommit(commit) });
    this.#schedule();
  }

  stop(): void {
    this.#stopObserving();
    this.#cancel?.();
    this.#view.release();
  }

  #onCommit({ changed, affected }: Commit): void {
    for (const { collection, key } of changed)
      for (const [kind, keys] of this.#pending) if (kind.objects === collection) keys.add(key);
    for (const { view, query, arg } of affected) {
      if (view !== (this.#view as View<unknown>)) continue;
      for (const [kind, keys] of this.#pending) {
        const key = kind.status === (query as unknown) ? kind.keyOf(arg) : undefined;
        if (key !== undefined) keys.add(key);
      }
    }
    this.#schedule();
  }

  #schedule(): void {
    const isPending = [...this.#pending.values()].some(({ size }) => size > 0);
    if (!isPending || this.#cancel !== undefined) return;
    this.#cancel = this.#clock.after(0, () => {
      this.#cancel = undefined;
      this.#compute();
      this.#schedule();
    });
  }

  /** Computes a batch of statuses, and passes them on. */
  #compute(): void {
    const changes = new Map<StatusKind, Map<string, ComputedStatus | undefined>>();
    let left = batchSize;
    for (const [kind, keys] of this.#pending) {
      for (const key of keys) {
        if (left-- === 0) return this.#changed(changes);
        keys.delete(key);
        const ofKind = changes.get(kind) ?? new Map<string, ComputedStatus | undefined>();
        changes.set(kind, ofKind.set(key, this.#statusOf(kind, key)));
      }
    }
    this.#changed(changes);
  }

  #statusOf(kind: StatusKind, key: string): ComputedStatus | undefined {
    const { database, onError } = this.#options;
    const query = kind.status as Query<unknown, ObjectStatus | undefined>;
    const argument = kind.argument(key);
    const object = database.read(kind.objects, key);
    if (object === undefined) {
      this.#view.unfollow(query, argument);
      return undefined;
    }
    try {
      const status = this.#view.follow(query, argument);
      return status && { generation: object.generation ?? 0, status };
    } catch (error) {
      onError(error, `${kind.kind.kind} ${key}`);
      return undefined;
    }
  }
}
