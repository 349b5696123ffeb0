import { matchesLabelSelector, meshConfig, namespaces } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import {
  type MeshConfig,
  type ServiceEntryVisibility,
  ServiceEntryVisibility_Visibility,
} from "@istiod/istio-api/mesh/v1alpha1/config";
import { settings } from "./features.js";

/** Returns MeshConfig. Queries should read it through one of the narrower queries below. */
function mesh(q: QueryContext): MeshConfig | undefined {
  return q.read(meshConfig, "mesh");
}

/** The trust domain of the mesh. */
export const trustDomain = query("trustDomain", (q): string => mesh(q)?.trustDomain || "cluster.local");

/** The root namespace: that of the mesh configuration, else that of istiod. */
const rootNamespace = query(
  "discoveryRootNamespace",
  (q): string => mesh(q)?.rootNamespace || settings.systemNamespace(q),
);

/**
 * Reports whether Services of a namespace may be gateways of networks. They receive the traffic to all workloads of the
 * network, so that a label alone must not suffice.
 */
export function mayHaveNetworkGateways(q: QueryContext, namespace: string): boolean {
  if (namespace === settings.systemNamespace(q) || namespace === q.call(rootNamespace)) return true;
  const others = settings.networkGatewayNamespaces(q);
  return others.includes("*") || others.includes(namespace);
}

/** Aliases of the trust domain. */
export const trustDomainAliases = query(
  "trustDomainAliases",
  (q): readonly string[] => mesh(q)?.trustDomainAliases ?? [],
);

/** Returns the SPIFFE ID of a service account. */
export function spiffeId(q: QueryContext, namespace: string, serviceAccount: string): string {
  return `spiffe://${q.call(trustDomain)}/ns/${namespace}/sa/${serviceAccount}`;
}

const visibilitySetting = query(
  "serviceEntryVisibilitySetting",
  (q): ServiceEntryVisibility | undefined => mesh(q)?.serviceEntryVisibility,
);

/** Limit of a service's visibility. */
export type VisibilityLimit = "public" | "namespace" | "none";

/**
 * Returns the limit that MeshConfig.serviceEntryVisibility sets for the ServiceEntries of a namespace: that of the
 * first policy whose rules all match.
 */
export function visibilityLimit(q: QueryContext, cluster: string, namespace: string): VisibilityLimit {
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
