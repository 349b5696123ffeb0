import { Database } from "@istiod/incremental";
import type { ApiClient, TypeAvailability } from "@istiod/kubernetes";
import { type Clock, monotonicClock } from "@istiod/runtime";
import { ObservedObjects } from "../controller/observed-objects.js";
import { discovery, type Scope } from "../inputs/discovery.js";
import { observedPools, ownPools } from "./own-pools.js";

export interface PoolOwnershipOptions extends Scope {
  readonly client: ApiClient;
  readonly availability?: TypeAvailability;
  /** Revision of this istiod. */
  readonly revision: string;
  /** Namespace of istiod. */
  readonly systemNamespace: string;
  /** True if the mesh has its InferencePools from elsewhere than the cluster. Default: false. */
  readonly readsPoolsElsewhere?: boolean;
  readonly clock?: Clock;
}

/** The InferencePools whose Services the leader of this istiod's revision writes, as every replica sees them. */
export interface PoolOwnership {
  /**
   * Returns why the controller of this revision does not write the Service of a pool (`namespace/name`), as a clause;
   * undefined if it does, or if the cluster is not read yet.
   */
  reasonUnwritten(pool: string): string | undefined;
  stop(): void;
}

/** Follows the InferencePools of a cluster and the revisions that they belong to. */
export function followPoolOwnership(options: PoolOwnershipOptions): PoolOwnership {
  const { client, availability, revision, readsPoolsElsewhere = false, clock = monotonicClock } = options;
  const database = new Database<void>();
  const view = database.view(undefined);
  const { watches, isMine } = ownPools({ ...options, discovered: discovery(options) });
  const changed = (): void => undefined;
  const objects = watches.map(
    (watch) => new ObservedObjects(watch, { client, availability, clock, changed, database }),
  );
  for (const each of objects) each.start();
  return {
    reasonUnwritten: (key) => {
      if (!objects.every(({ isComplete }) => isComplete)) return undefined;
      const pool = database.read(observedPools, key);
      // The mesh may have read a pool that this watch is about to report.
      if (pool === undefined) return readsPoolsElsewhere ? "the InferencePool is not in the cluster" : undefined;
      const [namespace = ""] = key.split("/");
      if (view.call(isMine, { namespace, revision: pool.value.revision })) return undefined;
      return `the InferencePool belongs to another revision than that of this istiod, ${revision}`;
    },
    stop: () => {
      for (const each of objects) each.stop();
      view.release();
    },
  };
}
