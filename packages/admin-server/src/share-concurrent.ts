/** Returns a function whose calls share one result while it is being computed. */
export function shareConcurrent<T>(compute: () => Promise<T>): () => Promise<T> {
  let computing: Promise<T> | undefined;
  return () =>
    (computing ??= compute().finally(() => {
      computing = undefined;
    }));
}
