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
  | ({ readonly state: "syncing" } & Partial<SyncReason>)
  | { readonly state: "synced" }
  | ({ readonly state: "stale" | "forbidden" | "timeout"; readonly since: number } & SyncReason);

/** Reason why content does not follow its source. */
export interface SyncReason {
  /** The reason for people. It may differ with each attempt, for example in a port or a count. */
  readonly reason: string;
  /**
   * Kind of the reason, such as `network`. A reason is reported again only when its kind changes. Default: the reason
   * itself.
   */
  readonly reasonKind?: string;
}

/** Returns the kind of an error as a reason: its code, or its message if it has none. */
export function reasonKindOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error && typeof error.code === "string" ? error.code : error.message;
}

/** Formats a state for people: `stale since 2023-11-14T22:13:20.000Z because the connection was refused`. */
export function formatSyncState(sync: SyncState): string {
  if (sync.state === "synced") return sync.state;
  if (sync.state === "syncing") return sync.reason === undefined ? sync.state : `syncing: ${sync.reason}`;
  return `${sync.state} since ${new Date(sync.since).toISOString()} because ${sync.reason}`;
}
