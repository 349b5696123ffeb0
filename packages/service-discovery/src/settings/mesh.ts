import { meshConfig, namespaces } from "@istiod/config-ingestion";
import { query, type QueryContext } from "@istiod/incremental";
import {
  type LabelSelector,
  type MeshConfig,
  type ServiceEntryVisibility,
  ServiceEntryVisibility_Visibility,
} from "@istiod/istio-api/mesh/v1alpha1/config";
import type { Labels } from "../model/service.js";

/** The mesh's configuration, as a whole. Queries read it through one of the narrower queries here. */
function mesh(q: QueryContext): MeshConfig | undefined {
  return q.read(meshConfig, "mesh");
}

/** The trust domain that identities are in. */
export const trustDomain = query("trustDomain", (q): string => mesh(q)?.trustDomain || "cluster.local");

/** Further trust domains whose identities count as the mesh's own. */
export const trustDomainAliases = query("trustDomainAliases", (q): readonly string[] => mesh(q)?.trustDomainAliases ?? []);

/** The SPIFFE ID of a service account of the mesh. */
export function spiffeId(q: QueryContext, namespace: string, serviceAccount: string): string {
  return `spiffe://${q.call(trustDomain)}/ns/${namespace}/sa/${serviceAccount}`;
}

/** Selectors of the namespaces that are discovered; empty: all are. */
const discoverySelectors = query("discoverySelectors", (q): readonly LabelSelector[] => mesh(q)?.discoverySelectors ?? []);

/** Whether the objects of a cluster's namespace are seen at all (MeshConfig.discoverySelectors). */
export const isDiscovered = query("isDiscovered", (q, at: { readonly cluster: string; readonly namespace: string }): boolean => {
  const selectors = q.call(discoverySelectors);
  if (selectors.length === 0) return true;
  const namespace = q.read(namespaces, `${at.cluster}/${at.namespace}`);
  return namespace !== undefined && selectors.some((selector) => matchesSelector(selector, namespace.labels));
});

const visibilitySetting = query("serviceEntryVisibilitySetting", (q): ServiceEntryVisibility | undefined => mesh(q)?.serviceEntryVisibility);

/** How far a service may be seen: a cap on what it exports. */
export type VisibilityCap = "public" | "namespace" | "none";

/** The scope that MeshConfig.serviceEntryVisibility leaves to the ServiceEntries of a namespace: of the first policy whose rules all match. */
export function visibilityCap(q: QueryContext, cluster: string, namespace: string): VisibilityCap {
  const setting = q.call(visibilitySetting);
  if (setting === undefined) return "public";
  const labels = q.read(namespaces, `${cluster}/${namespace}`)?.labels ?? {};
  const policy = setting.policies.find((candidate) =>
    candidate.matchingRules.every(
      ({ matcher }) => matcher.case === "namespaceSelector" && matchesSelector(matcher.value, labels),
    ),
  );
  switch (policy === undefined ? setting.defaultVisibility : policy.visibility) {
    case ServiceEntryVisibility_Visibility.NAMESPACE:
      return "namespace";
    case ServiceEntryVisibility_Visibility.NONE:
      return "none";
    default:
      return "public";
  }
}

/** Whether a Kubernetes label selector matches. One with an unknown operator matches nothing. */
function matchesSelector(selector: LabelSelector, labels: Labels): boolean {
  for (const name in selector.matchLabels) {
    if (labels[name] !== selector.matchLabels[name]) return false;
  }
  return selector.matchExpressions.every(({ key, operator, values }) => {
    const value = labels[key];
    switch (operator) {
      case "In":
        return value !== undefined && values.includes(value);
      case "NotIn":
        return value === undefined || !values.includes(value);
      case "Exists":
        return value !== undefined;
      case "DoesNotExist":
        return value === undefined;
      default:
        return false;
    }
  });
}
