/** The values of the entries that are admitted; `values`, which are those of all, where all are. */
export function admittedValues(
  entries: readonly { readonly key: string; readonly value: unknown }[],
  admits: (key: string) => boolean,
  values: readonly unknown[],
): readonly unknown[] {
  const admitted = entries.filter(({ key }) => admits(key));
  return admitted.length === entries.length ? values : admitted.map(({ value }) => value);
}
