import { collection, type QueryContext, type Transaction } from "@istiod/incremental";

const servedKey = "served";

/**
 * The fact that the database is served to proxies, an input: its one entry. Without it, the objects are those that a
 * cluster will be given, where controllers create Pods and endpoints.
 */
const served = collection<true>("Served");

/** Declares that the database is served to proxies. */
export function writeServed(tx: Pick<Transaction, "set">): void {
  tx.set(served, servedKey, true);
}

/** Reports whether the database is served to proxies. */
export function isServed(q: QueryContext): boolean {
  return q.read(served, servedKey) === true;
}
