/**
 * State of a source's content. Times are milliseconds since the epoch.
 *
 * - `syncing`: the first content is not complete yet
 * - `synced`: the content follows the source
 * - `stale`: the content is the last good one, because the source cannot be read since then
 * - `forbidden`: the first content is not complete, because a permission is missing
 * - `timeout`: the first content was not complete by the deadline; syncing continues
 */
export type SyncState =
  | { readonly state: "syncing"; readonly reason?: string }
  | { readonly state: "synced" }
  | { readonly state: "stale" | "forbidden" | "timeout"; readonly since: number; readonly reason: string };

/** Formats a state for people: `stale since 2023-11-14T22:13:20.000Z because the connection was refused`. */
export function formatSyncState(sync: SyncState): string {
  if (sync.state === "synced") return sync.state;
  if (sync.state === "syncing") return sync.reason === undefined ? sync.state : `syncing: ${sync.reason}`;
  return `${sync.state} since ${new Date(sync.since).toISOString()} because ${sync.reason}`;
}
