import type { Resource, ResourceSet } from "@istiod/resources";
import { sliceNames, type Sliced } from "../sliced.js";
import type { Selection } from "../wire/body-cache.js";

/** Lists derived from the same list or set that are kept. */
const maxDerived = 16;

const derived = new WeakMap<ResourceSet | readonly Resource[], Map<string, readonly Resource[]>>();
const halves = new WeakMap<readonly Resource[], readonly [readonly Resource[], readonly Resource[]]>();

/**
 * Returns the resources of a selection as `replace` returns them, without those that it returns nothing for. The list
 * is found again by the key, if there is one: clients that reject the same resources get the same list, which is
 * encoded once for all.
 *
 * @param more resources at the end, which the key distinguishes
 */
export function* derive(
  selection: Selection,
  key: string | undefined,
  replace: (resource: Resource) => Resource | undefined,
  more: readonly Resource[] = [],
): Sliced<readonly Resource[]> {
  const { resources } = selection;
  const origin = selection.whole ?? resources;
  const known = key === undefined ? undefined : derived.get(origin)?.get(key);
  if (known !== undefined) return known;
  const list: Resource[] = [];
  let handled = 0;
  for (const resource of resources) {
    if (++handled % sliceNames === 0) yield 0;
    const replaced = replace(resource);
    if (replaced !== undefined) list.push(replaced);
  }
  for (const resource of more) list.push(resource);
  if (key === undefined) return list;
  const lists = derived.get(origin) ?? new Map<string, readonly Resource[]>();
  if (lists.size >= maxDerived) lists.clear();
  derived.set(origin, lists.set(key, list));
  return list;
}

/** Returns the two halves of a list, the same ones each time. */
export function halvesOf(list: readonly Resource[]): readonly [readonly Resource[], readonly Resource[]] {
  let found = halves.get(list);
  if (found === undefined) {
    const middle = Math.ceil(list.length / 2);
    halves.set(list, (found = [list.slice(0, middle), list.slice(middle)]));
  }
  return found;
}
