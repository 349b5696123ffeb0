import { collection, type QueryContext, type Transaction } from "@istiod/incremental";

const servedKey = "served";

const wholeClusterKey = "wholeCluster";

/**
 * Facts about the objects of the database, an input. `served`: they are served to proxies. Without it, they are those
 * that a cluster will be given, where controllers create Pods and endpoints. `wholeCluster`: they are all of a cluster.
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

/** Declares that the database has all objects of a cluster. */
export function writeWholeCluster(tx: Pick<Transaction, "set">): void {
  tx.set(served, wholeClusterKey, true);
}

/** Reports whether the database has all workloads of the mesh. */
export function hasAllWorkloads(q: QueryContext): boolean {
  return isServed(q) || q.read(served, wholeClusterKey) === true;
}
