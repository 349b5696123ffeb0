import { type PeerAuthenticationObject, peerAuthentications, readDiscovered } from "@istiod/config-schema";
import type { Database, View } from "@istiod/incremental";
import { clientPeerModes, type Proxy } from "@istiod/push-context";
import { objectsRead } from "../provenance/objects-read.js";
import type { Producer } from "../provenance/producer.js";
import { ignoredConfig, type IgnoredConfig, objectReference } from "./ignored-config.js";
import { selectsClient } from "./selects-client.js";

/** Returns PeerAuthentications that an older one of the same scope (mesh, namespace or workload) overrides. */
export function overriddenPeerAuthentications(
  database: Database<Proxy>,
  view: View<Proxy>,
  { reads, queries }: Producer,
): readonly IgnoredConfig[] {
  const candidates = objectsRead(reads).filter(
    ({ kind, read }) => kind === "PeerAuthentication" && read === "candidate",
  );
  const policies = candidates
    .flatMap(({ key }) => readDiscovered(database, peerAuthentications, key) ?? [])
    .sort(byAge);
  const usesWorkloadPolicies = queries.some(({ definition }) => definition === clientPeerModes);
  const oldest = new Map<string, PeerAuthenticationObject>();
  return policies.flatMap((policy) => {
    const labels = policy.spec.selector?.matchLabels ?? {};
    const isNamespaceWide = Object.keys(labels).length === 0;
    const selects = (): boolean =>
      usesWorkloadPolicies && policy.namespace === view.client.namespace && view.call(selectsClient, { ...labels });
    if (!isNamespaceWide && !selects()) return [];
    const scope = `${policy.namespace} ${isNamespaceWide}`;
    const older = oldest.get(scope);
    if (older === undefined) {
      oldest.set(scope, policy);
      return [];
    }
    const target = isNamespaceWide ? `all workloads in namespace ${policy.namespace}` : "the client's workload";
    const olderKey = `${older.namespace}/${older.name}`;
    const reason = `is overridden by PeerAuthentication ${olderKey}, which takes precedence by age and name for ${target}`;
    return [
      ignoredConfig("PeerAuthentication", `${policy.namespace}/${policy.name}`, reason, {
        overriddenBy: objectReference("PeerAuthentication", olderKey),
      }),
    ];
  });
}

function byAge(a: PeerAuthenticationObject, b: PeerAuthenticationObject): number {
  return a.creationTimestamp - b.creationTimestamp || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
}
