import { matchesLabelSelector, meshConfig, namespaces } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import {
  type MeshConfig,
  type ServiceEntryVisibility,
  ServiceEntryVisibility_Visibility,
} from "@istiod/istio-api/mesh/v1alpha1/config";

/** The mesh's configuration, as a whole. Queries read it through one of the narrower queries here. */
function mesh(q: QueryContext): MeshConfig | undefined {
  return q.read(meshConfig, "mesh");
}

/** The trust domain that identities are in. */
export const trustDomain = query("trustDomain", (q): string => mesh(q)?.trustDomain || "cluster.local");

/** Further trust domains whose identities count as the mesh's own. */
export const trustDomainAliases = query(
  "trustDomainAliases",
  (q): readonly string[] => mesh(q)?.trustDomainAliases ?? [],
);

/** The SPIFFE ID of a service account of the mesh. */
export function spiffeId(q: QueryContext, namespace: string, serviceAccount: string): string {
  return `spiffe://${q.call(trustDomain)}/ns/${namespace}/sa/${serviceAccount}`;
}

const visibilitySetting = query(
  "serviceEntryVisibilitySetting",
  (q): ServiceEntryVisibility | undefined => mesh(q)?.serviceEntryVisibility,
);

/** How far a service may be seen: a cap on what it exports. */
export type VisibilityCap = "public" | "namespace" | "none";

/**
 * The scope that MeshConfig.serviceEntryVisibility leaves to the ServiceEntries of a namespace: of the first policy
 * whose rules all match.
 */
export function visibilityCap(q: QueryContext, cluster: string, namespace: string): VisibilityCap {
  const setting = q.call(visibilitySetting);
  if (setting === undefined) return "public";
  const labels = q.read(namespaces, `${cluster}/${namespace}`)?.labels ?? {};
  const policy = setting.policies.find((candidate) =>
    candidate.matchingRules.every(
      ({ matcher }) => matcher.case === "namespaceSelector" && matchesLabelSelector(matcher.value, labels),
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
