import type { ObjectName } from "./object-name.js";

/** What became of one change: the objects of one commit. All times are milliseconds. */
export interface ChangeReport {
  readonly revision: number;
  /** When it was committed, since the epoch. */
  readonly at: number;
  /** The objects that changed, of large commits the first ones. */
  readonly objects: readonly ObjectName[];
  readonly objectCount: number;
  /** Proxies that were sent something because of it. */
  readonly proxies: number;
  /** Of those, the proxies that acknowledged every response that they were sent because of it. */
  readonly proxiesAcknowledged: number;
  readonly responses: number;
  /** Resources in those responses, added up over proxies. */
  readonly resources: number;
  readonly removed: number;
  readonly bytes: number;
  /** The same by type URL. */
  readonly types: Readonly<
    Record<string, { readonly responses: number; readonly resources: number; readonly bytes: number }>
  >;
  /** From the commit to the first and the last response being handed to the transport. */
  readonly firstSentMs?: number;
  readonly lastSentMs?: number;
  /** From the commit to the first and the last acknowledgement. */
  readonly firstAckMs?: number;
  readonly lastAckMs?: number;
  readonly acks: number;
  readonly nackCount: number;
  /** The first refusals. */
  readonly nacks: readonly {
    readonly proxy: string;
    readonly typeUrl: string;
    readonly resources: readonly string[];
    readonly message: string;
  }[];
  /** Responses that were neither acknowledged nor refused, and whose client is still there. */
  readonly pending: number;
}
