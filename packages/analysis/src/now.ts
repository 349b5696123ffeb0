import { collection, type Transaction } from "@istiod/incremental";

/** The key of the only entry of {@link now}. */
export const nowKey = "now";

const hour = 3_600_000;

/**
 * The time, for findings that depend on it: the start of the current hour, in milliseconds since the Unix epoch.
 * Queries have no clock, so the owner of the database writes it. Without an entry, nothing is reported as expired.
 */
export const now = collection<number>("Now");

/** Maximum age of the entry of {@link now} in milliseconds. */
export const nowPrecision = hour;

/** Writes the time, rounded down to the hour. Writing it again within the hour changes nothing. */
export function writeNow(tx: Pick<Transaction, "set">, time: number): void {
  tx.set(now, nowKey, Math.floor(time / hour) * hour);
}
