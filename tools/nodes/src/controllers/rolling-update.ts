export interface RollingUpdate {
  readonly desired: number;
  readonly maxSurge: number;
  readonly maxUnavailable: number;
  readonly current: ReplicaCount;
  /** Earlier ones, the oldest first. */
  readonly old: readonly ReplicaCount[];
}

/** Replicas of a ReplicaSet: those that it should have, and those that are available. */
export interface ReplicaCount {
  readonly replicas: number;
  readonly available: number;
}

export interface RollingStep {
  readonly current: number;
  readonly old: readonly number[];
}

/** Resolves `maxSurge` and `maxUnavailable`: percentages are of the desired replicas, and not both are 0. */
export function rollingLimits(
  desired: number,
  { maxSurge = "25%", maxUnavailable = "25%" }: { maxSurge?: number | string; maxUnavailable?: number | string },
): { readonly maxSurge: number; readonly maxUnavailable: number } {
  const surge = resolve(maxSurge, desired, Math.ceil);
  const unavailable = resolve(maxUnavailable, desired, Math.floor);
  return { maxSurge: surge, maxUnavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}

function resolve(value: number | string, of: number, round: (value: number) => number): number {
  if (typeof value === "number") return value;
  return value.endsWith("%") ? round((Number(value.slice(0, -1)) * of) / 100) : Number(value);
}

/**
 * Returns the next numbers of replicas: the current ReplicaSet grows within the surge, and the old ones shrink while
 * enough replicas remain available. Old replicas that are not available go first.
 */
export function nextStep({ desired, maxSurge, maxUnavailable, current, old }: RollingUpdate): RollingStep {
  const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);
  const total = current.replicas + sum(old.map(({ replicas }) => replicas));
  const room = Math.max(desired + maxSurge - total, 0);
  const grown = current.replicas > desired ? desired : Math.min(current.replicas + room, desired);
  const minAvailable = desired - maxUnavailable;
  const missing = Math.max(grown - current.available, 0);
  let removable = Math.max(grown + total - current.replicas - minAvailable - missing, 0);
  const shrunk = old.map(({ replicas, available }) => {
    const removed = Math.min(Math.max(replicas - available, 0), removable);
    removable -= removed;
    return replicas - removed;
  });
  const available = current.available + sum(old.map((set) => Math.min(set.available, set.replicas)));
  let spare = Math.min(removable, Math.max(available - minAvailable, 0));
  const next = shrunk.map((replicas) => {
    const removed = Math.min(replicas, spare);
    spare -= removed;
    return replicas - removed;
  });
  return { current: grown, old: next };
}
