import { undiscoveredNamespace } from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import { kindOfCollection, type Place } from "./object-name.js";
import type { StatusSources } from "./object-status.js";

/** Returns why the objects of a name can have no effect on any proxy; undefined where one of them can. */
export function reasonWithoutEffect<C>(
  sources: Pick<StatusSources<C>, "database" | "kindsWithoutEffect">,
  places: readonly Place[],
): string | undefined {
  const { database, kindsWithoutEffect } = sources;
  const unread = places.map(({ collection }) => {
    const kind = kindOfCollection(collection);
    return kind && kindsWithoutEffect?.get(kind);
  });
  return unread.every((reason) => reason !== undefined) ? unread[0] : reasonUndiscovered(database, places);
}

/** No cluster that has the object discovers its namespace. */
function reasonUndiscovered<C>(database: Database<C>, places: readonly Place[]): string | undefined {
  const hidden = places.flatMap(({ collection, key }) => undiscoveredNamespace(database, collection, key) ?? []);
  const [first] = hidden;
  if (first === undefined || hidden.length < places.length) return undefined;
  return `no discoverySelector of the mesh configuration selects namespace ${first.namespace} of cluster ${hidden.map(({ cluster }) => cluster).join(", ")}`;
}
