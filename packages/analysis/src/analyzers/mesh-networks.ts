import { remoteClusterLabel } from "@istiod/config-ingestion";
import { environment, secrets } from "@istiod/config-schema";
import { nearestNames } from "@istiod/settings";
import { index, type QueryContext } from "@istiod/incremental";
import type { MeshNetworks } from "@istiod/istio-api/mesh/v1alpha1/network";
import { type AnalysisContext, type Analyzer, meshNetworksRule } from "../analyzer.js";
import { quotedNearest } from "../suggestions.js";

/** Analyzers of the mesh networks. */
export const meshNetworksAnalyzers: readonly Analyzer[] = [
  {
    name: "meshnetworks.MeshNetworksAnalyzer",
    description: "Checks that the clusters that mesh networks name are known",
    codes: ["IST0126"],
    rules: [meshNetworksRule(checkRegistries)],
  },
];

/** Registries that every istiod has. */
const ownRegistries: readonly string[] = ["Kubernetes", "External", "Mock"];

/** Secrets with the credentials of remote clusters. Those of a directory are not read. */
const clusterSecrets = index(secrets, "ofClusters", ({ labels, spec }) =>
  labels[remoteClusterLabel] === "true" && spec.isOfDirectory !== true ? ["cluster"] : [],
);

function checkRegistries({ networks }: MeshNetworks, { q, report }: AnalysisContext): void {
  const known = knownRegistries(q);
  for (const [name, { endpoints }] of Object.entries(networks)) {
    for (const [i, { ne }] of endpoints.entries()) {
      if (ne.case !== "fromRegistry" || known.has(ne.value)) continue;
      const nearest = quotedNearest(nearestNames(ne.value, known));
      report(
        "IST0126",
        ["networks", name, "endpoints", i, "fromRegistry"],
        `network ${name} names an unknown service registry ${JSON.stringify(ne.value)}: no cluster with that ID is known, so that none of its endpoints are in the network${nearest}`,
      );
    }
  }
}

function knownRegistries(q: QueryContext): ReadonlySet<string> {
  const remote = q.read(clusterSecrets, "cluster").flatMap(({ spec }) => Object.keys(spec.data));
  return new Set([...ownRegistries, q.read(environment, "CLUSTER_ID") ?? "Kubernetes", ...remote]);
}
