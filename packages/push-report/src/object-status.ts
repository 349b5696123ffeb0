import { setImmediate } from "node:timers/promises";
import { undiscoveredNamespace } from "@istiod/config-ingestion";
import type { Database } from "@istiod/incremental";
import type { Connection, Subscription } from "@istiod/xds-server";
import type { ChangeLog } from "./change-log.js";
import { removalStatus } from "./removal.js";
import type { Deliveries } from "./deliveries.js";
import { type Effect, Effects, type EffectSources } from "./effects.js";
import { formatName, placesOf, type ObjectName, type Place } from "./object-name.js";

/** On how many proxies an object is live. */
export interface ObjectStatus {
  readonly object: ObjectName;
  readonly found: boolean;
  /** Why no proxy can have anything of it, whatever it says; absent: that is not so. */
  readonly unseen?: string;
  /** The revision in which it last changed; undefined: it has not changed since the first full state. */
  readonly revision?: number;
  /** Proxies that would have something else if the object were not there; of a deleted one: that are to be told so, as far as that is remembered. */
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
}

const missingNamed = 50;

/** How the work is spread, so that others get their turn meanwhile. */
export interface StatusPace {
  /** After so many milliseconds of work others get a turn. Default 8. */
  readonly sliceMs?: number;
  /** Gives others a turn. Default: `setImmediate`. */
  readonly turn?: () => Promise<unknown>;
}

/** Where something is committed again and again while an answer is made, it is begun anew so often; then nobody else gets a turn until it is made. */
const mostBeginnings = 4;

/**
 * The status of an object, at one moment after it was asked for. Which proxies it reaches is told by supposing that it were not there: what a proxy would then be given
 * that it is not given now, and the reverse, is made from the object. This costs what deleting the object would, so results should be
 * kept for as long as the revision stands. It is done proxy by proxy, with turns for others between; what a commit makes out of date is begun anew.
 */
export async function statusOf<C>(sources: StatusSources<C>, object: ObjectName, { sliceMs = 8, turn = setImmediate }: StatusPace = {}): Promise<ObjectStatus> {
  const { database } = sources;
  for (let beginning = 1; ; beginning++) {
    const { revision } = database;
    const places = placesOf(database, object);
    const unseen = reasonUnseen(database, places);
    if (places.length === 0) return removalStatus(sources, object);
    if (unseen !== undefined) return statusAt(sources, object, places, unseen, undefined);
    const effects = new Effects(sources, database.suppose((tx) => places.forEach(({ collection, key }) => tx.delete(collection, key))));
    let until = performance.now() + sliceMs;
    for (const ask of effects.asked(sources.connections())) {
      if (beginning < mostBeginnings && performance.now() >= until) {
        await turn();
        if (database.revision !== revision) break;
        until = performance.now() + sliceMs;
      }
      ask();
    }
    if (database.revision === revision) return statusAt(sources, object, places, undefined, effects);
  }
}

/** The status at this moment: what proxies have said by now. */
function statusAt<C>(sources: StatusSources<C>, object: ObjectName, places: readonly Place[], unseen: string | undefined, effects: Effects<C> | undefined): ObjectStatus {
  const revision = sources.changes.lastChangeOf(object);
  const missing: Missing[] = [];
  let [reached, live, refused] = [0, 0, 0];
  for (const connection of effects === undefined ? [] : sources.connections()) {
    const lacks = connection.subscriptions.map((subscription) => {
      const effect = effects?.on(connection, subscription);
      return effect === undefined ? undefined : lack(sources.deliveries, connection, subscription, effect, revision);
    });
    if (lacks.every((each) => each === undefined)) continue;
    reached++;
    const all = lacks.flatMap((each) => each ?? []);
    if (all.length === 0) live++;
    if (all.some(({ reason }) => reason === "refused")) refused++;
    if (missing.length < missingNamed) missing.push(...all);
  }
  return { object, found: places.length > 0, ...(revision !== undefined && { revision }), ...(unseen !== undefined && { unseen }), reached, live, refused, missing };
}

/** Why nobody sees an object: no cluster that has it discovers its namespace. */
function reasonUnseen<C>(database: Database<C>, places: readonly Place[]): string | undefined {
  const hidden = places.flatMap(({ collection, key }) => undiscoveredNamespace(database, collection, key) ?? []);
  const [first] = hidden;
  if (first === undefined || hidden.length < places.length) return undefined;
  return `no discoverySelector of the mesh configuration selects namespace ${first.namespace} of cluster ${hidden.map(({ cluster }) => cluster).join(", ")}`;
}

function lack(deliveries: Deliveries, connection: Connection, subscription: Subscription, { made, removed }: Effect, revision: number | undefined): Missing[] {
  const { typeUrl } = subscription;
  const of = { proxy: connection.node.id, typeUrl };
  const refused = made.flatMap((resource) => {
    const error = deliveries.refusal(connection.id, typeUrl, resource.name, subscription.sentOf(resource.name)?.version);
    return error === undefined ? [] : [{ name: resource.name, error }];
  });
  const [first] = refused;
  if (first !== undefined) return [{ ...of, reason: "refused", resources: refused.map(({ name }) => name), message: first.error.message }];
  if (deliveries.acknowledged(connection.id, typeUrl, revision ?? 0)) return [];
  const unsent = [...made.filter((r) => subscription.sentOf(r.name)?.version !== r.version).map(({ name }) => name), ...removed.filter((name) => subscription.sentOf(name) !== undefined)];
  if (unsent.length > 0) return [{ ...of, reason: "not sent", resources: unsent }];
  if (subscription.nonceSent === subscription.nonceAcked) return [];
  const beside = deliveries.lastRefusal(connection.id, typeUrl)?.message;
  const message = beside === undefined ? {} : { message: `the response that it was in was refused: ${beside}` };
  return [{ ...of, reason: "not acknowledged", resources: [...made.map(({ name }) => name), ...removed], ...message }];
}

/** As in `VirtualService/shop/cart: live on 3 of 4 proxies`, or `…: deleted, gone from 3 of 4 proxies`. */
export function formatStatus({ object, found, revision, unseen, live, reached, refused }: ObjectStatus): string {
  if (!found && revision === undefined) return `${formatName(object)}: not found`;
  if (unseen !== undefined) return `${formatName(object)}: not seen: ${unseen}`;
  const note = refused > 0 ? `, refused by ${refused}` : "";
  return `${formatName(object)}: ${found ? "live on" : "deleted, gone from"} ${live} of ${reached} ${reached === 1 ? "proxy" : "proxies"}${note}`;
}
