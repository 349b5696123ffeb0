/** Returns the sum of the weights of backends. */
export function weightSum(backends: readonly { readonly weight: number }[]): number {
  return backends.reduce((sum, { weight }) => sum + weight, 0);
}

/** Returns the backends that receive traffic, each with its weight as destination: 0 for a single one. */
export function weighted<T extends { readonly weight: number }>(
  backends: readonly T[],
): readonly { readonly backend: T; readonly weight: number }[] {
  const active = backends.filter(({ weight }) => weight > 0);
  return active.map((backend) => ({ backend, weight: active.length === 1 ? 0 : backend.weight }));
}
