import { allKinds, analysisKinds, type Kind, type ObjectOfOtherRevision, otherRevisions } from "@istiod/config-schema";
import { nearestNames } from "@istiod/settings";
import type { Change, Collection, Database } from "@istiod/incremental";

/** An object by the names that users know. */
export interface ObjectName {
  /** Kind without its group; the name of the collection for inputs that are not objects of a kind. */
  readonly kind: string;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

/** The input that holds an object. Each cluster may have an object of the same name. */
export interface ObjectInput {
  readonly collection: Collection<unknown>;
  readonly key: string;
}

/** Several kinds may have the same name, such as Istio's Gateway and that of the Gateway API. */
const namedKinds: readonly Kind[] = [...allKinds, ...analysisKinds];
const kindOf = new Map<Collection<unknown>, Kind>(namedKinds.map((kind) => [kind.collection, kind]));

/** Collections of substitutes and of objects of other revisions, whose keys are those of their kinds. */
const besideKinds: ReadonlySet<Collection<unknown>> = new Set<Collection<unknown>>([
  ...allKinds.flatMap(({ failClosed }) => failClosed?.collection ?? []),
  ...otherRevisions.values(),
]);

/** Returns the name of a changed object. */
export function nameOf({ collection, key }: Change): ObjectName {
  const parts = key.split("/");
  const name = parts.at(-1) ?? key;
  const kind = kindOf.get(collection);
  if (kind === undefined)
    return { kind: collection.name, namespace: besideKinds.has(collection) ? (parts.at(-2) ?? "") : "", name };
  return { kind: kind.kind, namespace: kind.scope === "cluster" ? "" : (parts.at(-2) ?? ""), name };
}

/** Formats a name as `Kind/namespace/name` or `Kind/name`. */
export function formatName({ kind, namespace, name }: ObjectName): string {
  return namespace === "" ? `${kind}/${name}` : `${kind}/${namespace}/${name}`;
}

/**
 * Parses `Kind/namespace/name`, or `Kind/name` for cluster-scoped kinds. The kind is case-insensitive.
 *
 * @throws Error that describes the expected form.
 */
export function parseName(text: string): ObjectName {
  const [kindName = "", ...rest] = text.split("/");
  const kind = namedKinds.find((k) => k.kind.toLowerCase() === kindName.toLowerCase());
  if (kind === undefined) throw new Error(`${text}: there is no kind ${kindName}; ${suggestKinds(kindName)}`);
  const expected = kind.scope === "cluster" ? `${kind.kind}/NAME` : `${kind.kind}/NAMESPACE/NAME`;
  if (rest.length !== (kind.scope === "cluster" ? 1 : 2) || rest.includes(""))
    throw new Error(`${text}: expected ${expected}`);
  return { kind: kind.kind, namespace: kind.scope === "cluster" ? "" : (rest[0] ?? ""), name: rest.at(-1) ?? "" };
}

function suggestKinds(kindName: string): string {
  const kinds = [...new Set(namedKinds.map((k) => k.kind))].sort();
  const near = nearestNames(kindName, kinds);
  return near.length > 0 ? `did you mean ${near.join(" or ")}?` : `known kinds: ${kinds.join(", ")}`;
}

/** Returns the kind of a collection's objects; undefined for inputs that are not objects of a kind. */
export function kindOfCollection(collection: Collection<unknown>): Kind | undefined {
  return kindOf.get(collection);
}

/** Returns the inputs that hold objects of a name, of all kinds and clusters that have one. */
export function inputsOf<C>(database: Database<C>, { kind, namespace, name }: ObjectName): readonly ObjectInput[] {
  const tail = namespace === "" ? name : `${namespace}/${name}`;
  return namedKinds
    .filter((k) => k.kind === kind)
    .flatMap(({ collection }) => keysOf(database, collection, tail).map((key) => ({ collection, key })));
}

/** Returns the object of a name that belongs to another revision; undefined if there is none. */
export function objectOfOtherRevision<C>(
  database: Database<C>,
  { kind, namespace, name }: ObjectName,
): ObjectOfOtherRevision | undefined {
  for (const [{ kind: known }, collection] of otherRevisions) {
    const [key] = known === kind ? keysOf(database, collection, `${namespace}/${name}`) : [];
    if (key !== undefined) return database.read(collection, key);
  }
  return undefined;
}

/** Returns the keys `shop/cart`, or `<cluster>/shop/cart` for kinds of which each cluster has its own objects. */
function keysOf<C>(database: Database<C>, collection: Collection<unknown>, tail: string): readonly string[] {
  if (database.read(collection, tail) !== undefined) return [tail];
  return database
    .keys(collection)
    .filter((key) => key.endsWith(`/${tail}`) && key.split("/").length === tail.split("/").length + 1);
}
