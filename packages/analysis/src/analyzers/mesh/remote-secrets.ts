import { sanitizeKubeconfig } from "@istiod/config-ingestion";
import { configCluster, environment, secretKind, type SecretObject, secrets } from "@istiod/config-schema";
import { index, type QueryContext } from "@istiod/incremental";
import { rootNamespace } from "@istiod/push-context";
import { reasonOf } from "@istiod/runtime";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";

export const remoteSecretAnalyzer: Analyzer = {
  name: "mesh.RemoteSecretAnalyzer",
  description: "Checks that the Secrets of remote clusters are where istiod reads them, and have usable kubeconfigs",
  codes: ["MESH0076"],
  rules: [rule(secretKind, secrets, checkSecret)],
};

const label = "istio/multiCluster";

/** Secrets of remote clusters, by the clusters that they describe. */
const byCluster = index(secrets, "byRemoteCluster", ({ labels, spec }) =>
  labels[label] === "true" ? Object.keys(spec.data) : [],
);

function checkSecret({ cluster, namespace, name, labels, spec }: SecretObject, { q, report }: AnalysisContext): void {
  const value = labels[label];
  // Those of remote clusters are for their own control planes.
  if (value === undefined || cluster !== configCluster(q)) return;
  const path = ["metadata", "labels", label];
  if (value !== "true") {
    if (value !== "false")
      report("MESH0076", path, `is ${JSON.stringify(value)}, so that istiod does not read the Secret, expected "true"`);
    return;
  }
  if (namespace !== rootNamespace(q)) {
    const message = `is not read in namespace ${namespace}: istiod reads Secrets of remote clusters in its own namespace, ${rootNamespace(q)}`;
    report("MESH0076", path, message);
    return;
  }
  const clusters = Object.entries(spec.data);
  if (clusters.length === 0)
    report(
      "MESH0076",
      path,
      "has no effect: the Secret has no data; its keys are IDs of clusters, its values kubeconfigs",
    );
  for (const [id, content] of clusters) {
    const fault = faultOfCluster(q, { id, content, own: `${namespace}/${name}` });
    if (fault !== undefined) report("MESH0076", ["data", id], `cluster ${JSON.stringify(id)} is not read: ${fault}`);
  }
}

interface RemoteCluster {
  readonly id: string;
  readonly content: Uint8Array;
  /** The Secret, `namespace/name`. */
  readonly own: string;
}

/** Explains why the cluster of a kubeconfig is not connected; undefined if nothing in the Secret is against it. */
function faultOfCluster(q: QueryContext, { id, content, own }: RemoteCluster): string | undefined {
  if (id === configCluster(q))
    return "it is the ID of the cluster that istiod runs in (CLUSTER_ID); name the remote cluster by its own ID";
  const [first] = q
    .read(byCluster, id)
    .filter(({ namespace }) => namespace === rootNamespace(q))
    .map(({ namespace, name }) => `${namespace}/${name}`)
    .sort();
  if (first !== undefined && first !== own)
    return `Secret ${first} describes the same cluster, and comes first; give each cluster an ID of its own`;
  return faultOfKubeconfig(q, new TextDecoder().decode(content));
}

function faultOfKubeconfig(q: QueryContext, text: string): string | undefined {
  const allowed = (q.read(environment, "PILOT_INSECURE_MULTICLUSTER_KUBECONFIG_OPTIONS") ?? "").split(",");
  try {
    sanitizeKubeconfig(text, new Set(allowed.map((each) => each.trim())));
    return undefined;
  } catch (error) {
    return `its kubeconfig ${reasonOf(error).replace(/^kubeconfig:? /, "")}`;
  }
}
