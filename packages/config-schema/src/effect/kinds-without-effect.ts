import { experimentalListenerSetKind, udpRouteKind } from "../kinds/gateway-api/other-kinds.js";
import { proxyConfigKind } from "../kinds/istio/proxy-config.js";
import { workloadGroupKind } from "../kinds/istio/workload-group.js";
import type { Kind } from "../kinds/kind.js";
import type { AbsentReaders, ObjectReader } from "./absent-readers.js";

/** Kinds that nothing reads, with the reason. */
const unread: ReadonlyMap<Kind, string> = new Map([
  [udpRouteKind, "Istio does not route UDP"],
  [experimentalListenerSetKind, "it is superseded; write a ListenerSet"],
]);

/** Kinds that one part of the control plane reads, and what to write where it does not run. */
const readByOne: ReadonlyMap<Kind, { readonly reader: ObjectReader; readonly instead: string }> = new Map([
  [proxyConfigKind, { reader: "injection", instead: "set its fields in PROXY_CONFIG of each agent" }],
  [workloadGroupKind, { reader: "registration", instead: "write WorkloadEntries" }],
]);

/**
 * Returns the kinds whose objects are accepted and validated and have no effect on any proxy, with the reason. A test
 * compares them with the collections that generators, injection and registration read.
 *
 * @param absent the parts of the control plane that do not run
 */
export function kindsWithoutEffect(absent: AbsentReaders): ReadonlyMap<Kind, string> {
  const reasons = new Map(unread);
  for (const [kind, { reader, instead }] of readByOne) {
    const reason = absent[reader];
    if (reason !== undefined) reasons.set(kind, `${reason}; ${instead}`);
  }
  return reasons;
}

/** Returns the effect of kinds that are not read for connected proxies, although they have one, as a clause. */
export const effectsElsewhere: ReadonlyMap<Kind, string> = new Map([
  [proxyConfigKind, "applies to the Pods that are injected from now on"],
  [workloadGroupKind, "applies to the workloads that register from now on"],
]);
