import type { PendingChanges } from "./pending-changes.js";

/** That something may have to be sent of a type. */
export interface Due {
  readonly reason: "request" | "change";
  /** Milliseconds, by the clock of the stream. */
  readonly since: number;
  /** The changes that led to it, or came while it waited. */
  readonly changes: PendingChanges;
}
