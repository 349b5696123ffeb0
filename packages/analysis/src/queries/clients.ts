import { gateways, type GatewayObject } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import {
  egressListeners,
  features,
  isExportedTo,
  listenerVirtualServices,
  meshGateway,
  sidecarScopeOf,
  virtualServiceHeader,
} from "@istiod/push-context";
import { isInjected, namespacesWithPods, type PodProfile, selectedPods } from "./pods.js";
import type { Labels } from "./workload-sources.js";

/** Clients with the same namespace and labels, for which the model answers alike. */
export interface ClientClass {
  readonly namespace: string;
  readonly labels: Labels;
  /** The cluster of the proxies of a Gateway. */
  readonly cluster?: string;
  /** True if the labels tell them from other clients of the namespace. */
  readonly byLabels?: true;
  /** The Gateway that selects them, `namespace/name`; absent for sidecars. */
  readonly gateway?: string;
}

/** The sidecars of a namespace by their labels. Ambient workloads, gateways and machines are not among them. */
export const sidecarsIn = query("sidecarsIn", (q, namespace: string): readonly Labels[] => {
  const profiles = q.call(selectedPods, { namespace, labels: {} }).filter((profile) => isSidecar(q, profile));
  return [...new Map(profiles.map(({ labels }) => [JSON.stringify(labels), labels])).values()];
});

function isSidecar(q: QueryContext, profile: PodProfile): boolean {
  return !profile.ambient && profile.router !== true && profile.machine !== true && isInjected(q, profile);
}

/** Namespaces with sidecars, sorted. */
export const namespacesWithSidecars = query("namespacesWithSidecars", (q): readonly string[] =>
  q
    .call(namespacesWithPods)
    .filter((namespace) => q.call(sidecarsIn, namespace).length > 0)
    .sort(),
);

/**
 * Returns the sidecars of a namespace that get a VirtualService of the mesh gateway, by their labels: those to whose
 * namespace it is exported and whose Sidecar imports it.
 */
export function sidecarsWith(q: QueryContext, virtualService: string, namespace: string): readonly Labels[] {
  const header = q.call(virtualServiceHeader, virtualService);
  if (header === undefined || !header.gateways.includes(meshGateway) || !isExportedTo(header.exportedTo, namespace))
    return [];
  return q.call(sidecarsIn, namespace).filter((labels) => {
    const scope = sidecarScopeOf(q, { namespace, labels });
    return (
      scope.sidecar === undefined || q.call(importingListeners, { virtualService, scope: JSON.stringify(scope) }) > 0
    );
  });
}

const importingListeners = query(
  "importingListeners",
  (q, { virtualService, scope }: { readonly virtualService: string; readonly scope: string }): number => {
    const of = JSON.parse(scope) as ReturnType<typeof sidecarScopeOf>;
    return q
      .call(egressListeners, of)
      .filter((_, listener) => q.call(listenerVirtualServices, { scope: of, listener }).includes(virtualService))
      .length;
  },
);

/** Returns the gateways that get a VirtualService, by the Gateways that it names, with the first pods of each. */
export function gatewaysWith(
  q: QueryContext,
  virtualService: string,
): readonly (ClientClass & { readonly cluster: string })[] {
  const header = q.call(virtualServiceHeader, virtualService);
  if (header === undefined) return [];
  return [...new Set(header.gateways)].flatMap((name) => {
    const gateway = name === meshGateway ? undefined : q.read(gateways, name);
    const pods = gateway === undefined ? [] : podsOf(q, gateway);
    const served = pods.filter(({ namespace }) => isExportedTo(header.exportedTo, namespace));
    return served.map(({ namespace, cluster, labels }) => ({ namespace, cluster, labels, gateway: name }));
  });
}

function podsOf(q: QueryContext, { namespace, spec }: GatewayObject): readonly PodProfile[] {
  const within = features.scopeGatewayToNamespace(q) ? { namespace } : {};
  return q.call(selectedPods, { ...within, labels: spec.selector });
}
