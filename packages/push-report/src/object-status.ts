import { setImmediate } from "node:timers/promises";
import type { Kind } from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import type { Connection, Subscription } from "@istiod/xds-server";
import type { ChangeLog } from "./change-log.js";
import { removalStatus } from "./removal.js";
import type { Deliveries } from "./deliveries.js";
import { type Effect, Effects, type EffectSources } from "./effects.js";
import { reasonWithoutEffect } from "./no-effect.js";
import { placesOf, type ObjectName } from "./object-name.js";
import { isSettling } from "./settling.js";

/** On how many proxies an object is live. */
export interface ObjectStatus {
  readonly object: ObjectName;
  readonly found: boolean;
  /** The reason why it can have no effect on any proxy; absent: it can. */
  readonly noEffect?: string;
  /** The revision in which it last changed; undefined: it has not changed since the first full state. */
  readonly revision?: number;
  /** Proxies that are connected, of any kind. */
  readonly connected: number;
  /** Of those, the proxies that have not yet answered all that they are to be sent: they may come to be reached. */
  readonly settling: number;
  /**
   * Proxies that would have something else if the object were not there; of a deleted one: that are to be told so, as
   * far as that is remembered.
   */
  readonly reached: number;
  /** Of those, the proxies that acknowledged everything that is made from it, or that it is gone. */
  readonly live: number;
  /** Of those, the proxies that refused some of it. */
  readonly refused: number;
  /** The proxies where it is not live: the first ones. */
  readonly missing: readonly Missing[];
}

export interface Missing {
  readonly proxy: string;
  readonly reason: "not sent" | "not acknowledged" | "refused";
  readonly typeUrl: string;
  readonly resources: readonly string[];
  /** The proxy's words, where it refused this, or something beside it. */
  readonly message?: string;
}

/** What status is told from. */
export interface StatusSources<C> extends EffectSources<C> {
  readonly database: Database<C>;
  readonly deliveries: Deliveries;
  connections(): readonly Connection[];
  readonly changes: Pick<ChangeLog, "lastChangeOf" | "report" | "unanswered">;
  /** Kinds whose objects configure no proxy, with the reason. Default: none. */
  readonly kindsWithoutEffect?: ReadonlyMap<Kind, string>;
}

const missingNamed = 50;

/** How the work is spread, so that others get their turn meanwhile. */
export interface StatusPace {
  /** After so many milliseconds of work others get a turn. Default 8. */
  readonly sliceMs?: number;
  /** Gives others a turn. Default: `setImmediate`. */
  readonly turn?: () => Promise<unknown>;
}

/**
 * Where something is committed again and again while an answer is made, it is begun anew so often; then nobody else
 * gets a turn until it is made.
 */
const mostBeginnings = 4;

/**
 * The status of an object, at one moment after it was asked for. The proxies that it reaches are found by a dry run
 * without it: resources that a proxy has only with the object, or only without it, are built from the object. This
 * costs what deleting the object would, so results should be kept for as long as the revision stands. It is done proxy
 * by proxy, with turns for others between; what a commit makes out of date is begun anew.
 */
export async function statusOf<C>(
  sources: StatusSources<C>,
  object: ObjectName,
  { sliceMs = 8, turn = setImmediate }: StatusPace = {},
): Promise<ObjectStatus> {
  const { database } = sources;
  for (let beginning = 1; ; beginning++) {
    const { revision } = database;
    const places = placesOf(database, object);
    if (places.length === 0) return removalStatus(sources, object);
    const noEffect = reasonWithoutEffect(sources, places);
    if (noEffect !== undefined) return statusAt(sources, object, noEffect);
    const effects = new Effects(
      sources,
      database.dryRun((tx) => places.forEach(({ collection, key }) => tx.delete(collection, key))),
    );
    let until = performance.now() + sliceMs;
    for (const ask of effects.asked(sources.connections())) {
      if (beginning < mostBeginnings && performance.now() >= until) {
        await turn();
        if (database.revision !== revision) break;
        until = performance.now() + sliceMs;
      }
      ask();
    }
    if (database.revision === revision) return statusAt(sources, object, effects);
  }
}

/** The status at this moment: what proxies have said by now of an object that there is. */
function statusAt<C>(sources: StatusSources<C>, object: ObjectName, found: Effects<C> | string): ObjectStatus {
  const connections = sources.connections();
  const present = {
    connected: connections.length,
    settling: connections.filter((connection) => isSettling(sources, connection)).length,
  };
  const revision = sources.changes.lastChangeOf(object);
  const of = { object, found: true, ...(revision !== undefined && { revision }), ...present };
  if (typeof found === "string") return { ...of, noEffect: found, reached: 0, live: 0, refused: 0, missing: [] };
  const missing: Missing[] = [];
  let [reached, live, refused] = [0, 0, 0];
  for (const connection of connections) {
    const lacks = connection.subscriptions.map((subscription) => {
      const effect = found.on(connection, subscription);
      return effect === undefined ? undefined : lack(sources.deliveries, connection, subscription, effect, revision);
    });
    if (lacks.every((each) => each === undefined)) continue;
    reached++;
    const all = lacks.flatMap((each) => each ?? []);
    if (all.length === 0) live++;
    if (all.some(({ reason }) => reason === "refused")) refused++;
    if (missing.length < missingNamed) missing.push(...all);
  }
  return { ...of, reached, live, refused, missing };
}

function lack(
  deliveries: Deliveries,
  connection: Connection,
  subscription: Subscription,
  { made, removed }: Effect,
  revision: number | undefined,
): Missing[] {
  const { typeUrl } = subscription;
  const of = { proxy: connection.node.id, typeUrl };
  const refused = made.flatMap((resource) => {
    const error = deliveries.refusal(
      connection.id,
      typeUrl,
      resource.name,
      subscription.sentOf(resource.name)?.version,
    );
    return error === undefined ? [] : [{ name: resource.name, error }];
  });
  const [first] = refused;
  if (first !== undefined)
    return [{ ...of, reason: "refused", resources: refused.map(({ name }) => name), message: first.error.message }];
  if (deliveries.acknowledged(connection.id, typeUrl, revision ?? 0)) return [];
  const unsent = [
    ...made.filter((r) => subscription.sentOf(r.name)?.version !== r.version).map(({ name }) => name),
    ...removed.filter((name) => subscription.sentOf(name) !== undefined),
  ];
  if (unsent.length > 0) return [{ ...of, reason: "not sent", resources: unsent }];
  if (subscription.nonceSent === subscription.nonceAcked) return [];
  const beside = deliveries.lastRefusal(connection.id, typeUrl)?.message;
  const message = beside === undefined ? {} : { message: `the response that it was in was refused: ${beside}` };
  return [{ ...of, reason: "not acknowledged", resources: [...made.map(({ name }) => name), ...removed], ...message }];
}
