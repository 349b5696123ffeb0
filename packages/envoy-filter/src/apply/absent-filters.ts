/**
 * A filter that another build of Envoy would have, so that patches can be placed relative to it. It goes before the
 * first filter of the list that would follow it. Without such a filter, it has no place.
 */
export interface AbsentFilter {
  readonly name: string;
  /** Names of filters that would follow it. `*`: it would be the first. */
  readonly before: readonly string[];
}

/**
 * Runs something on a list of filters in which absent ones have a place, and removes them again. A filter whose name is
 * in the list is not absent.
 */
export function withAbsentFilters<T extends { readonly name: string }>(
  filters: T[],
  absent: readonly AbsentFilter[],
  newPlaceholder: (name: string) => T,
  run: () => void,
): void {
  const placeholders = new Set<T>();
  for (const { name, before } of absent) {
    const at = before.includes("*") ? 0 : filters.findIndex((filter) => before.includes(filter.name));
    if (at < 0 || filters.some((filter) => filter.name === name)) continue;
    const placeholder = newPlaceholder(name);
    placeholders.add(placeholder);
    filters.splice(at, 0, placeholder);
  }
  run();
  if (placeholders.size > 0) filters.splice(0, filters.length, ...filters.filter((each) => !placeholders.has(each)));
}
