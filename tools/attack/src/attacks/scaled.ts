/** Returns a share of a count, at least 1. */
export function scaled(count: number, scale: number): number {
  return Math.max(1, Math.round(count * scale));
}
