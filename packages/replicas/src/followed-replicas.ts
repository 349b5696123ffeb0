import type { Replica } from "./replica.js";

export interface FollowedReplicasOptions<K extends { readonly name: string; readonly address: string }> {
  /** Lists the replicas. @throws Error */
  readonly list: () => Promise<readonly K[]>;
  /** Returns a listed replica. It is kept, with its connection, for as long as it is listed. */
  readonly open: (listed: K) => Replica;
  /** Milliseconds for which a list is reused. Default: 1000. */
  readonly maxAgeMs?: number;
  /** Returns the time in milliseconds. Default: `performance.now`. */
  readonly now?: () => number;
}

/** Returns a function that lists the replicas, at most once in a period, and keeps one `Replica` for each. */
export function followedReplicas<K extends { readonly name: string; readonly address: string }>({
  list,
  open,
  maxAgeMs = 1000,
  now = () => performance.now(),
}: FollowedReplicasOptions<K>): () => Promise<readonly Replica[]> {
  let kept = new Map<string, Replica>();
  let last: { readonly at: number; readonly replicas: Promise<readonly Replica[]> } | undefined;
  const read = async (): Promise<readonly Replica[]> => {
    const listed = await list();
    kept = new Map(
      listed.map((each) => {
        const key = `${each.name}\0${each.address}`;
        return [key, kept.get(key) ?? open(each)];
      }),
    );
    return [...kept.values()];
  };
  return () => {
    if (last !== undefined && now() - last.at < maxAgeMs) return last.replicas;
    const reading = { at: now(), replicas: read() };
    last = reading;
    // A failure is not reused.
    reading.replicas.catch(() => (last = last === reading ? undefined : last));
    return reading.replicas;
  };
}
