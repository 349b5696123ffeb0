import { type PeerAuthenticationObject, peerAuthentications, readDiscovered } from "@istiod/config-schema";
import type { Database, View } from "@istiod/incremental";
import { clientPeerModes, type Proxy } from "@istiod/push-context";
import type { Maker } from "../maker.js";
import { objectsRead } from "../made-from.js";
import { type Loss, loss, named } from "./loss.js";
import { selectsClient } from "./selects-client.js";

/**
 * PeerAuthentications that an older one of the same reach leaves without effect: of the mesh, of a namespace, or on the
 * client's workload.
 */
export function youngerPeerAuthentications(
  database: Database<Proxy>,
  view: View<Proxy>,
  { reads, queries }: Maker,
): readonly Loss[] {
  const read = objectsRead(reads).filter(({ kind, read }) => kind === "PeerAuthentication" && read === "candidate");
  const policies = read.flatMap(({ key }) => readDiscovered(database, peerAuthentications, key) ?? []).sort(byAge);
  const forClient = queries.some(({ definition }) => definition === clientPeerModes);
  const first = new Map<string, PeerAuthenticationObject>();
  return policies.flatMap((policy) => {
    const labels = policy.spec.selector?.matchLabels ?? {};
    const wide = Object.keys(labels).length === 0;
    if (!wide && (!forClient || policy.namespace !== view.client.namespace || !view.call(selectsClient, { ...labels })))
      return [];
    const reach = `${policy.namespace} ${wide}`;
    const older = first.get(reach);
    if (older === undefined) {
      first.set(reach, policy);
      return [];
    }
    const where = wide ? `all workloads of namespace ${policy.namespace}` : "the client's workload";
    return [
      loss(
        "PeerAuthentication",
        `${policy.namespace}/${policy.name}`,
        `gives way to PeerAuthentication ${older.namespace}/${older.name}, which is the first by age and name for ${where}`,
        { winner: named("PeerAuthentication", `${older.namespace}/${older.name}`) },
      ),
    ];
  });
}

function byAge(a: PeerAuthenticationObject, b: PeerAuthenticationObject): number {
  return a.creationTimestamp - b.creationTimestamp || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
}
