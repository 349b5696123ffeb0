import { InjectorError } from "../errors.js";
import { asObject, type JsonObject, jsonTypeOf } from "../go-types/json.js";
import { keyedElement, patchMarker, withoutDirectives } from "./directives.js";

/** Rules by which a list is merged. */
export interface ListPolicy {
  /** Merges a change into an object of the list. */
  readonly mergeElement: (original: JsonObject, change: JsonObject) => JsonObject;
  /** Field that identifies the elements; undefined for a list of scalars. */
  readonly mergeKey: string | undefined;
  /** True if the patch lists scalars to remove. */
  readonly deletes: boolean;
  /** Name of the list, for messages. */
  readonly place: string;
}

/** Merges a patch's list into a list. The order of the patch's elements is that of the patch. */
export function mergeLists(original: readonly unknown[], patch: readonly unknown[], policy: ListPolicy): unknown[] {
  if (original.length === 0 && patch.length === 0) return [];
  if (!areObjects([original, patch], policy.place)) {
    if (policy.deletes) return original.filter((item) => !patch.includes(item));
    return enforceOrder(deduplicate([...original, ...patch]), patch, original, { ...policy, mergeKey: undefined });
  }
  const { mergeKey, place } = policy;
  if (mergeKey === undefined) throw new InjectorError("patch", `${place}: lists without merge key cannot be merged`);
  const { kept, changes } = followElementMarkers(original, patch, mergeKey, place);
  return enforceOrder(mergeElements(kept, changes, mergeKey, policy), changes, kept, policy);
}

/** A list before a patch, a patch's list, and the order that the patch sets. */
interface OrderedLists {
  readonly original: unknown[] | undefined;
  readonly patch: unknown[] | undefined;
  readonly order: readonly unknown[];
}

/** Merges the lists and enforces the order. Returns undefined if there are none. */
export function mergeOrderedLists(
  { original, patch, order }: OrderedLists,
  policy: ListPolicy,
  merges: boolean,
): unknown[] | undefined {
  checkOrder(patch ?? [], order, policy);
  if (original === undefined && patch === undefined) return undefined;
  if (!areObjects([original ?? [], patch ?? []], policy.place) && !original?.length && !patch?.length)
    throw new InjectorError("patch", `${policy.place}: has no elements to order`);
  const merged =
    patch === undefined
      ? (original ?? [])
      : original === undefined
        ? (withoutDirectives(patch) as unknown[])
        : merges
          ? mergeLists(original, patch, policy)
          : patch;
  return enforceOrder(merged, order, original ?? [], policy);
}

/** Applies `$patch` of elements: an element that is deleted, or the replacement of the whole list. */
function followElementMarkers(
  original: readonly unknown[],
  patch: readonly unknown[],
  mergeKey: string,
  place: string,
): { readonly kept: readonly unknown[]; readonly changes: readonly unknown[] } {
  const deleted = new Set<unknown>();
  let replaces = false;
  const changes: unknown[] = [];
  for (const item of patch) {
    const directive = asObject(item)?.[patchMarker];
    if (directive === undefined) changes.push(item);
    else if (directive === "delete") deleted.add(keyedElement(item, mergeKey, place)[mergeKey]);
    else if (directive === "replace") replaces = true;
    else
      throw new InjectorError(
        "patch",
        `${place}: ${patchMarker} of an element is ${JSON.stringify(directive)}, expected delete or replace`,
      );
  }
  if (replaces) return { kept: changes, changes: [] };
  const kept = deleted.size === 0 ? original : original.filter((item) => !deleted.has(asObject(item)?.[mergeKey]));
  return { kept, changes };
}

function mergeElements(
  original: readonly unknown[],
  patch: readonly unknown[],
  mergeKey: string,
  { mergeElement, place }: ListPolicy,
): readonly unknown[] {
  const merged = [...original];
  /** Places of the first element with each key. */
  const places = new Map<unknown, number>();
  for (const [at, item] of merged.entries()) {
    const key = asObject(item)?.[mergeKey];
    if (!places.has(key)) places.set(key, at);
  }
  for (const item of patch) {
    const change = keyedElement(item, mergeKey, place);
    const at = places.get(change[mergeKey]);
    if (at !== undefined) merged[at] = mergeElement(merged[at] as JsonObject, change);
    else places.set(change[mergeKey], merged.push(change) - 1);
  }
  return merged;
}

/**
 * Sorts the elements that an order names by it. The others keep the order of the original; each goes before the first
 * named element that followed it there, and else to the end.
 */
function enforceOrder(
  merged: readonly unknown[],
  order: readonly unknown[],
  original: readonly unknown[],
  { mergeKey, place }: ListPolicy,
): unknown[] {
  const identity = (item: unknown): unknown =>
    mergeKey === undefined ? item : keyedElement(item, mergeKey, place)[mergeKey];
  const positions = (items: readonly unknown[]): ReadonlyMap<unknown, number> =>
    new Map(items.map((item, i) => [identity(item), i] as const).reverse());
  const wanted = positions(order);
  const before = positions(original);
  const by = (places: ReadonlyMap<unknown, number>) => (a: unknown, b: unknown) =>
    (places.get(identity(a)) ?? 0) - (places.get(identity(b)) ?? 0);
  const named = merged.filter((item) => wanted.has(identity(item))).sort(by(wanted));
  const others = merged.filter((item) => !wanted.has(identity(item))).sort(by(before));
  const result: unknown[] = [];
  let next = 0;
  for (const item of named) {
    const limit = before.get(identity(item));
    while (limit !== undefined && next < others.length && (before.get(identity(others[next])) ?? Infinity) < limit)
      result.push(others[next++]);
    result.push(item);
  }
  for (; next < others.length; next++) result.push(others[next]);
  return result;
}

/** Checks that the elements of a patch are in the order that it sets. */
function checkOrder(patch: readonly unknown[], order: readonly unknown[], { mergeKey, place }: ListPolicy): void {
  if (patch.length === 0 || order.length === 0) return;
  const identity = (item: unknown): unknown =>
    mergeKey === undefined ? item : keyedElement(item, mergeKey, place)[mergeKey];
  const directive = (item: unknown): unknown => asObject(item)?.[patchMarker];
  const changes = patch.filter((item) => directive(item) !== "delete");
  let at = 0;
  for (const item of order) {
    // Kubernetes accepts other directives only before an element.
    while (at < changes.length && directive(changes[at]) !== undefined) at++;
    if (at < changes.length && identity(changes[at]) === identity(item)) at++;
  }
  if (at < changes.length)
    throw new InjectorError("patch", `${place}: its elements are not in the order of $setElementOrder/${place}`);
}

/** Reports whether lists have objects; throws if they have several types of elements, or lists. */
function areObjects(lists: readonly (readonly unknown[])[], place: string): boolean {
  const types = new Set(lists.flat().map(jsonTypeOf));
  if (types.size > 1) throw new InjectorError("patch", `${place}: has elements of several types`);
  if (types.has("a list") || types.has("null"))
    throw new InjectorError("patch", `${place}: has ${types.has("null") ? "null" : "lists"} as elements`);
  return types.has("an object");
}

/** Removes repeated scalars as Kubernetes does, which moves the last element to the place of a repeated one. */
function deduplicate(items: readonly unknown[]): readonly unknown[] {
  if (new Set(items).size === items.length) return items;
  const result = [...items];
  for (let i = 0; i < result.length; i++)
    for (let j = i + 1; j < result.length; j++) {
      if (result[i] !== result[j]) continue;
      const last = result.pop();
      if (j < result.length) result[j] = last;
      j--;
    }
  return result;
}
