/** Returns a resource version as a number, by which API servers order them. Undefined for versions of others. */
export function orderOf(resourceVersion: string): bigint | undefined {
  return /^\d{1,20}$/.test(resourceVersion) ? BigInt(resourceVersion) : undefined;
}

/** Reports whether a resource version is another one, or is known to be later. */
export function isSameOrLater(resourceVersion: string, other: string): boolean {
  if (resourceVersion === other) return true;
  const [order, otherOrder] = [orderOf(resourceVersion), orderOf(other)];
  return order !== undefined && otherOrder !== undefined && order > otherOrder;
}
