/** Returns the values of the admitted entries: `values`, those of all entries, if all are admitted. */
export function admittedValues(
  entries: readonly { readonly key: string; readonly value: unknown }[],
  admits: (key: string) => boolean,
  values: readonly unknown[],
): readonly unknown[] {
  const admitted = entries.filter(({ key }) => admits(key));
  return admitted.length === entries.length ? values : admitted.map(({ value }) => value);
}
