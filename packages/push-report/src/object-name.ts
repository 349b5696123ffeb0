import { allKinds, analysisKinds, type Kind } from "@istiod/config-schema";
import { nearestNames } from "@istiod/settings";
import type { Change, Collection, Database } from "@istiod/incremental";

/** An object of the mesh by the words of a user. */
export interface ObjectName {
  /** Kind without its group; for what is not an object of a kind, the name of its collection. */
  readonly kind: string;
  /** Empty for what is in no namespace. */
  readonly namespace: string;
  readonly name: string;
}

/** Where an object stands among the inputs; in a mesh of several clusters there may be one in each. */
export interface Place {
  readonly collection: Collection<unknown>;
  readonly key: string;
}

/** Two of them may have one name, as Istio's Gateway and that of the Gateway API. */
const namedKinds: readonly Kind[] = [...allKinds, ...analysisKinds];
const kindOf = new Map<Collection<unknown>, Kind>(namedKinds.map((kind) => [kind.collection, kind]));

/** The name of what changed. */
export function nameOf({ collection, key }: Change): ObjectName {
  const parts = key.split("/");
  const name = parts.at(-1) ?? key;
  const kind = kindOf.get(collection);
  if (kind === undefined) return { kind: collection.name, namespace: "", name };
  return { kind: kind.kind, namespace: kind.scope === "cluster" ? "" : (parts.at(-2) ?? ""), name };
}

/** `Kind/namespace/name`, or `Kind/name`. */
export function formatName({ kind, namespace, name }: ObjectName): string {
  return namespace === "" ? `${kind}/${name}` : `${kind}/${namespace}/${name}`;
}

/**
 * Reads `Kind/namespace/name`, or `Kind/name` of a kind without namespaces; the kind in any case of letters.
 *
 * @throws Error that says what is expected.
 */
export function parseName(text: string): ObjectName {
  const [kindName = "", ...rest] = text.split("/");
  const kind = namedKinds.find((k) => k.kind.toLowerCase() === kindName.toLowerCase());
  if (kind === undefined) throw new Error(`${text}: there is no kind ${kindName}; ${kindsInstead(kindName)}`);
  const expected = kind.scope === "cluster" ? `${kind.kind}/NAME` : `${kind.kind}/NAMESPACE/NAME`;
  if (rest.length !== (kind.scope === "cluster" ? 1 : 2) || rest.includes(""))
    throw new Error(`${text}: expected ${expected}`);
  return { kind: kind.kind, namespace: kind.scope === "cluster" ? "" : (rest[0] ?? ""), name: rest.at(-1) ?? "" };
}

function kindsInstead(kindName: string): string {
  const kinds = [...new Set(namedKinds.map((k) => k.kind))].sort();
  const near = nearestNames(kindName, kinds);
  return near.length > 0 ? `did you mean ${near.join(" or ")}?` : `known are ${kinds.join(", ")}`;
}

/** Returns the kind of the objects of a collection; undefined for inputs that are no objects of a kind. */
export function kindOfCollection(collection: Collection<unknown>): Kind | undefined {
  return kindOf.get(collection);
}

/** Where the objects of a name stand; none where there is no such object. */
export function placesOf<C>(database: Database<C>, { kind, namespace, name }: ObjectName): readonly Place[] {
  const tail = namespace === "" ? name : `${namespace}/${name}`;
  return namedKinds
    .filter((k) => k.kind === kind)
    .flatMap(({ collection }) => keysOf(database, collection, tail).map((key) => ({ collection, key })));
}

/** Of clusters, or of the mesh: `shop/cart`, or that in each cluster. */
function keysOf<C>(database: Database<C>, collection: Collection<unknown>, tail: string): readonly string[] {
  if (database.read(collection, tail) !== undefined) return [tail];
  return database
    .keys(collection)
    .filter((key) => key.endsWith(`/${tail}`) && key.split("/").length === tail.split("/").length + 1);
}
