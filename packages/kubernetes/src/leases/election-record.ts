import { ApiError } from "../api-error.js";

/** The state of an election, as client-go stores it. */
export interface ElectionRecord {
  /** Empty: the last leader has released the lock. */
  readonly holderIdentity: string;
  /** Priority of the holder; empty if it has none. */
  readonly holderKey: string;
  /** Seconds for which others must not take the lock after they have seen a renewal. */
  readonly leaseDurationSeconds: number;
  /** Milliseconds since the epoch, by the holder's clock. Never compared with another clock. */
  readonly acquireTime: number;
  /** As `acquireTime`. */
  readonly renewTime: number;
  /** Number of changes of the holder. */
  readonly leaderTransitions: number;
}

interface Candidate {
  readonly identity: string;
  readonly key: string;
  readonly leaseDurationMs: number;
}

interface PreviousRecord {
  /** The last known record, if any. */
  readonly record: ElectionRecord | undefined;
  /** The candidate has written that record. */
  readonly isOwn: boolean;
  /** Milliseconds since the epoch. */
  readonly date: number;
}

/** Returns the record by which a candidate acquires or renews the lock. */
export function heldRecord(
  { identity, key, leaseDurationMs }: Candidate,
  { record, isOwn, date }: PreviousRecord,
): ElectionRecord {
  return {
    holderIdentity: identity,
    holderKey: key,
    leaseDurationSeconds: leaseDurationMs / 1000,
    acquireTime: isOwn && record ? record.acquireTime : date,
    renewTime: date,
    leaderTransitions: record === undefined ? 0 : record.leaderTransitions + (isOwn ? 0 : 1),
  };
}

/** Returns the record by which a holder releases the lock. */
export function releasedRecord(record: ElectionRecord, date: number): ElectionRecord {
  const released = { holderIdentity: "", holderKey: "", leaseDurationSeconds: 1, acquireTime: date, renewTime: date };
  return { ...record, ...released };
}

/** An election's record with times as the API has them. */
export interface EncodedRecord {
  readonly holderIdentity?: string | null;
  readonly holderKey?: string;
  readonly leaseDurationSeconds?: number | null;
  readonly acquireTime?: string | null;
  readonly renewTime?: string | null;
  readonly leaderTransitions?: number | null;
}

/** Reads a record in which every field may be absent. @throws ApiError `malformed` */
export function decodeRecord(encoded: EncodedRecord, where: string): ElectionRecord {
  const number = (field: "leaseDurationSeconds" | "leaderTransitions"): number => {
    const value = encoded[field] ?? 0;
    if (!Number.isSafeInteger(value) || value < 0)
      throw new ApiError("malformed", `${where}: ${field} is ${JSON.stringify(value)}, expected a number from 0`);
    return value;
  };
  const text = (field: "holderIdentity" | "holderKey"): string => {
    const value: unknown = encoded[field] ?? "";
    if (typeof value !== "string")
      throw new ApiError("malformed", `${where}: ${field} is ${JSON.stringify(value)}, expected a string`);
    return value;
  };
  return {
    holderIdentity: text("holderIdentity"),
    holderKey: text("holderKey"),
    leaseDurationSeconds: number("leaseDurationSeconds"),
    acquireTime: timeOf(encoded.acquireTime),
    renewTime: timeOf(encoded.renewTime),
    leaderTransitions: number("leaderTransitions"),
  };
}

/** Formats a time with microseconds, as Kubernetes requires it of Leases. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}

/** Returns 0 for times that cannot be read: they are informative. */
function timeOf(text: string | null | undefined): number {
  return Date.parse(text ?? "") || 0;
}
