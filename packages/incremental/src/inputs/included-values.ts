/** Returns the values of the entries that a filter includes: `values`, those of all entries, if it includes all. */
export function includedValues(
  entries: readonly { readonly key: string; readonly value: unknown }[],
  includes: (key: string) => boolean,
  values: readonly unknown[],
): readonly unknown[] {
  const included = entries.filter(({ key }) => includes(key));
  return included.length === entries.length ? values : included.map(({ value }) => value);
}
