import { undiscoveredNamespace } from "@istiod/config-ingestion";
import type { Database, Query, Supposition, View } from "@istiod/incremental";
import { difference, type Resource, type ResourceSet } from "@istiod/resources";
import type { Connection, Subscription } from "@istiod/xds-server";
import type { Deliveries } from "./deliveries.js";
import { formatName, placesOf, type ObjectName, type Place } from "./object-name.js";

/** On how many proxies an object is live. */
export interface ObjectStatus {
  readonly object: ObjectName;
  readonly found: boolean;
  /** Why no proxy can have anything of it, whatever it says; absent: that is not so. */
  readonly unseen?: string;
  /** The revision in which it last changed; undefined: it has not changed since the first full state. */
  readonly revision?: number;
  /** Proxies that would have something else if the object were not there. */
  readonly reached: number;
  /** Of those, the proxies that acknowledged everything that is made from it. */
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
  /** The proxy's words, where it refused. */
  readonly message?: string;
}

/** What status is told from. */
export interface StatusSources<C> {
  readonly database: Database<C>;
  readonly deliveries: Deliveries;
  connections(): readonly Connection[];
  /** The mesh as a stream sees it. */
  viewOf(connection: Connection): View<C> | undefined;
  readonly generators: Readonly<Record<string, Query<void, ResourceSet>>>;
  readonly lookups: Readonly<Record<string, Query<string, Resource | undefined>>>;
  lastChangeOf(object: ObjectName): number | undefined;
}

const missingNamed = 50;

/**
 * The status of an object. Which proxies it reaches is told by supposing that it were not there: what a proxy would then be given
 * that it is not given now, and the reverse, is made from the object. This costs what deleting the object would, so results should be
 * kept for as long as the revision stands.
 */
export function statusOf<C>(sources: StatusSources<C>, object: ObjectName): ObjectStatus {
  const places = placesOf(sources.database, object);
  const revision = sources.lastChangeOf(object);
  const unseen = reasonUnseen(sources.database, places);
  const base = { object, found: places.length > 0, ...(revision !== undefined && { revision }), ...(unseen !== undefined && { unseen }) };
  if (places.length === 0 || unseen !== undefined) return { ...base, reached: 0, live: 0, refused: 0, missing: [] };
  const without = sources.database.suppose((tx) => places.forEach(({ collection, key }) => tx.delete(collection, key)));
  const missing: Missing[] = [];
  let [reached, live, refused] = [0, 0, 0];
  for (const connection of sources.connections()) {
    const view = sources.viewOf(connection);
    if (view === undefined) continue;
    const effects = connection.subscriptions.map((s) => ({ subscription: s, effect: effectOn(sources, view, without, s) })).filter(({ effect }) => effect.made.length + effect.removed.length > 0);
    if (effects.length === 0) continue;
    reached++;
    const lacks = effects.flatMap(({ subscription, effect }) => lack(sources.deliveries, connection, subscription, effect, revision));
    if (lacks.length === 0) live++;
    if (lacks.some(({ reason }) => reason === "refused")) refused++;
    if (missing.length < missingNamed) missing.push(...lacks);
  }
  return { ...base, reached, live, refused, missing };
}

/** Why nobody sees an object: no cluster that has it discovers its namespace. */
function reasonUnseen<C>(database: Database<C>, places: readonly Place[]): string | undefined {
  const hidden = places.flatMap(({ collection, key }) => undiscoveredNamespace(database, collection, key) ?? []);
  const [first] = hidden;
  if (first === undefined || hidden.length < places.length) return undefined;
  return `no discoverySelector of the mesh configuration selects namespace ${first.namespace} of cluster ${hidden.map(({ cluster }) => cluster).join(", ")}`;
}

/** What an object does to a client's resources of one type. */
interface Effect {
  /** Resources that would be others, or not there, without the object. */
  readonly made: readonly Resource[];
  /** Names that would be there without it. */
  readonly removed: readonly string[];
}

const noEffect: Effect = { made: [], removed: [] };

function effectOn<C>({ generators, lookups }: StatusSources<C>, view: View<C>, without: Supposition<C>, { typeUrl, wildcard, names }: Subscription): Effect {
  const generator = generators[typeUrl];
  if (generator === undefined) return noEffect;
  const now = attempt(() => view.call(generator));
  if (now === undefined) return noEffect;
  const then = attempt(() => without.call(view, generator));
  const covers = (name: string): boolean => wildcard || names.has(name);
  const made: Resource[] = [];
  const removed: string[] = [];
  if (then === undefined) made.push(...[...now].filter(({ name }) => covers(name)));
  else if (then !== now) {
    const { changed, removed: gone } = difference(then, now);
    made.push(...changed.filter(({ name }) => covers(name)));
    removed.push(...gone.filter(covers));
  }
  const lookup = lookups[typeUrl];
  for (const name of lookup === undefined ? [] : names) {
    if (lookup === undefined || now.has(name) || then?.has(name) === true) continue;
    const found = attempt(() => view.call(lookup, name));
    const would = attempt(() => without.call(view, lookup, name));
    if (found?.version === would?.version) continue;
    if (found !== undefined) made.push(found);
    else removed.push(name);
  }
  return { made, removed };
}

/** A query that fails without the object is one that needs it; one that fails with it gives nothing, and what the client has stands. */
function attempt<R>(call: () => R): R | undefined {
  try {
    return call();
  } catch {
    return undefined;
  }
}

function lack(deliveries: Deliveries, connection: Connection, subscription: Subscription, { made, removed }: Effect, revision: number | undefined): Missing[] {
  const { typeUrl, sent } = subscription;
  const of = { proxy: connection.node.id, typeUrl };
  const refused = made.flatMap((resource) => {
    const error = deliveries.refusal(connection.id, typeUrl, resource.name, sent?.get(resource.name)?.version);
    return error === undefined ? [] : [{ name: resource.name, error }];
  });
  const [first] = refused;
  if (first !== undefined) return [{ ...of, reason: "refused", resources: refused.map(({ name }) => name), message: first.error.message }];
  if (deliveries.acknowledged(connection.id, typeUrl, revision ?? 0)) return [];
  const unsent = [...made.filter((r) => sent?.get(r.name)?.version !== r.version).map(({ name }) => name), ...removed.filter((name) => sent?.has(name))];
  if (unsent.length > 0) return [{ ...of, reason: "not sent", resources: unsent }];
  if (subscription.nonceSent === subscription.nonceAcked) return [];
  return [{ ...of, reason: "not acknowledged", resources: [...made.map(({ name }) => name), ...removed] }];
}

/** As in `VirtualService/shop/cart: live on 3 of 4 proxies`. */
export function formatStatus({ object, found, unseen, live, reached, refused }: ObjectStatus): string {
  if (!found) return `${formatName(object)}: not found`;
  if (unseen !== undefined) return `${formatName(object)}: not seen: ${unseen}`;
  const note = refused > 0 ? `, refused by ${refused}` : "";
  return `${formatName(object)}: live on ${live} of ${reached} ${reached === 1 ? "proxy" : "proxies"}${note}`;
}
