import type { ObjectName } from "./object-name.js";

/** The outcome of one change, which is the objects of one commit. All times are milliseconds. */
export interface ChangeReport {
  readonly revision: number;
  /** Time of the commit, since the epoch. */
  readonly at: number;
  /** The objects that changed; the first 100 of large commits. */
  readonly objects: readonly ObjectName[];
  readonly objectCount: number;
  /** Number of proxies with a response that shows the change. */
  readonly proxies: number;
  /** Number of those proxies that acknowledged all such responses. */
  readonly proxiesAcknowledged: number;
  readonly responses: number;
  /** Resources in those responses, summed over proxies. */
  readonly resources: number;
  readonly removed: number;
  readonly bytes: number;
  /** Counts by type URL. */
  readonly types: Readonly<
    Record<string, { readonly responses: number; readonly resources: number; readonly bytes: number }>
  >;
  /** Time from the commit until the first and the last response were handed to the transport. */
  readonly firstSentMs?: number;
  readonly lastSentMs?: number;
  /** Time from the commit until the first and the last ACK. */
  readonly firstAckMs?: number;
  readonly lastAckMs?: number;
  readonly acks: number;
  readonly nackCount: number;
  /** The first 20 NACKs. */
  readonly nacks: readonly {
    readonly proxy: string;
    readonly typeUrl: string;
    readonly resources: readonly string[];
    readonly message: string;
  }[];
  /** Number of unanswered responses to clients that are still connected. */
  readonly pending: number;
}
