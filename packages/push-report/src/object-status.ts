import type { Collection, Database } from "@istiod/incremental";
import type { Connection } from "@istiod/xds-server";
import type { ChangeLog } from "./change-log.js";
import type { Deliveries } from "./deliveries.js";
import type { EffectSources } from "./effects.js";
import type { MissingResources } from "./missing-resources.js";
import type { ObjectName } from "./object-name.js";

/** The number of proxies on which an object is live. */
export interface ObjectStatus {
  readonly object: ObjectName;
  readonly found: boolean;
  /** The reason why the object cannot have an effect on any proxy, or is not read at all; absent if it can. */
  readonly noEffect?: string;
  /** The effect of an object that is not read for connected proxies, as a clause; absent for most kinds. */
  readonly effectElsewhere?: string;
  /** Revision of the last change; absent if the object has not changed since the start. */
  readonly revision?: number;
  /** The Gateway that the object is for, whose own proxies have not connected; absent if there is none. */
  readonly awaited?: string;
  /** An object that istiod writes for this one, and that is missing or outdated; absent if there is none. */
  readonly unwritten?: ObjectName;
  /** The reason why no running controller writes `unwritten`, as a clause; absent if one does. */
  readonly reasonUnwritten?: string;
  /** An object that istiod wrote for this one, which is deleted, and that still exists; absent if there is none. */
  readonly unremoved?: ObjectName;
  /** Number of connected proxies of any kind. */
  readonly connected: number;
  /** Number of connected proxies with pushes or answers outstanding, which the object may still reach. */
  readonly settling: number;
  /**
   * Number of proxies whose resources would differ without the object. For a deleted object, the number of proxies that
   * the deletion affects, as far as it is remembered.
   */
  readonly reached: number;
  /** Number of reached proxies that acknowledged everything that is built from the object, or its deletion. */
  readonly live: number;
  /** Number of reached proxies that rejected some of it. */
  readonly rejected: number;
  /** Resources that are not live; the first 50. */
  readonly missing: readonly MissingResources[];
}

/** An object that istiod writes to the API server for another one, by which that takes effect. */
export interface WrittenObject {
  readonly object: ObjectName;
  /** False if it does not exist, or not as the other one needs it. */
  readonly isCurrent: boolean;
  /** The reason why no running controller writes it, as a clause; absent if one does. */
  readonly reasonUnwritten?: string;
}

/** Inputs of a status. */
export interface StatusSources<C> extends EffectSources<C> {
  readonly database: Database<C>;
  readonly deliveries: Deliveries;
  connections(): readonly Connection[];
  readonly changes: Pick<ChangeLog, "lastChangeOf" | "report" | "unanswered">;
  /** Returns the Gateway that an object is for and whose own proxies have not connected yet. Default: none. */
  awaitedGateway?(object: ObjectName): string | undefined;
  /**
   * Returns the object that is written for an object, and deleted with it; of an object that does not exist, the one
   * that is left. Default: none.
   */
  writtenFor?(object: ObjectName): WrittenObject | undefined;
  /** Returns why an object is not read, whether or not it exists; undefined if it would be. Default: it would be. */
  reasonUnread?(object: ObjectName): string | undefined;
  /** Returns why objects of a collection cannot have an effect on proxies; undefined if they can. Default: they can. */
  reasonWithoutEffect?(of: Collection<unknown>): string | undefined;
}
