import { effectsElsewhere, undiscoveredNamespace } from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import { kindOfCollection, type ObjectInput } from "./object-name.js";
import type { StatusSources } from "./object-status.js";

/** Returns why the objects of a name cannot have an effect on any proxy; undefined if one of them can. */
export function reasonWithoutEffect<C>(
  sources: Pick<StatusSources<C>, "database" | "reasonWithoutEffect">,
  inputs: readonly ObjectInput[],
): string | undefined {
  const { database } = sources;
  const unread = inputs.map(({ collection }) => sources.reasonWithoutEffect?.(collection));
  return unread.every((reason) => reason !== undefined) ? unread[0] : reasonUndiscovered(database, inputs);
}

/** Returns the effect of objects that have one, although none on connected proxies; undefined for other kinds. */
export function effectElsewhere(inputs: readonly ObjectInput[]): string | undefined {
  for (const { collection } of inputs) {
    const kind = kindOfCollection(collection);
    const effect = kind && effectsElsewhere.get(kind);
    if (effect !== undefined) return effect;
  }
  return undefined;
}

/** Returns a reason if no cluster with the object discovers its namespace. */
function reasonUndiscovered<C>(database: Database<C>, inputs: readonly ObjectInput[]): string | undefined {
  const undiscovered = inputs.flatMap(({ collection, key }) => undiscoveredNamespace(database, collection, key) ?? []);
  const [first] = undiscovered;
  if (first === undefined || undiscovered.length < inputs.length) return undefined;
  return `no discoverySelector of the mesh configuration selects namespace ${first.namespace} of cluster ${undiscovered.map(({ cluster }) => cluster).join(", ")}`;
}
