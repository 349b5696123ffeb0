import { originOfSecret, remoteClusterLabel, RemoteClusters } from "@istiod/config-ingestion";
import {
  clusterRegistriesVariable,
  configCluster,
  environment,
  readAbsentReaders,
  secretKind,
  type SecretObject,
  secrets,
} from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";
import { discoveryFeatures } from "@istiod/service-discovery";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";

export const remoteSecretAnalyzer: Analyzer = {
  name: "mesh.RemoteSecretAnalyzer",
  description: "Checks that the Secrets of remote clusters are where istiod reads them, and have usable kubeconfigs",
  codes: ["MESH0076"],
  rules: [rule(secretKind, secrets, checkSecret)],
};

/** Secrets of remote clusters by `cluster/namespace`. */
const clusterSecrets = index(secrets, "ofRemoteClusters", ({ cluster, namespace, labels, spec }) =>
  labels[remoteClusterLabel] === "true" && spec.isOfDirectory !== true ? [`${cluster}/${namespace}`] : [],
);

const ofDirectory = "Secrets of remote clusters are read only from the API server, not from a directory";

function checkSecret({ cluster, namespace, name, labels, spec }: SecretObject, { q, report }: AnalysisContext): void {
  const value = labels[remoteClusterLabel];
  // Those of remote clusters are for their own control planes.
  if (value === undefined || cluster !== configCluster(q)) return;
  const path = ["metadata", "labels", remoteClusterLabel];
  const reasonUnread = readAbsentReaders(q).remoteClusters ?? (spec.isOfDirectory === true ? ofDirectory : undefined);
  if (reasonUnread !== undefined) {
    if (value === "true") report("MESH0076", path, `has no effect: ${reasonUnread}`);
    return;
  }
  if (value !== "true") {
    if (value !== "false")
      report("MESH0076", path, `is ${JSON.stringify(value)}, so that istiod does not read the Secret, expected "true"`);
    return;
  }
  const read = namespaceOfSecrets(q);
  if (namespace !== read) {
    const message = `is not read in namespace ${namespace}: istiod reads Secrets of remote clusters in namespace ${read}`;
    report("MESH0076", path, message);
    return;
  }
  const clusters = Object.keys(spec.data);
  if (clusters.length === 0)
    report(
      "MESH0076",
      path,
      "has no effect: the Secret has no data; its keys are IDs of clusters, its values kubeconfigs",
    );
  for (const id of clusters) {
    const fault = faultOfCluster(q, id, originOfSecret({ namespace, name }));
    if (fault !== undefined) report("MESH0076", ["data", id], `cluster ${JSON.stringify(id)} is not read: ${fault}`);
  }
}

/** Returns the namespace in which istiod reads the Secrets: that of a flag, else its own. */
function namespaceOfSecrets(q: QueryContext): string {
  return q.read(environment, clusterRegistriesVariable) || discoveryFeatures.systemNamespace(q);
}

/** Explains why the cluster of a kubeconfig is not connected; undefined if nothing in the Secret is against it. */
function faultOfCluster(q: QueryContext, id: string, own: string): string | undefined {
  if (id === configCluster(q))
    return "it is the ID of the cluster that istiod runs in (CLUSTER_ID); name the remote cluster by its own ID";
  const { origins, faults } = q.call(connectedClusters);
  const fault = faults[faultKey(own, id)];
  if (fault !== undefined) return describeFault(fault);
  const used = Object.hasOwn(origins, id) ? origins[id] : undefined;
  return used === undefined || used === own
    ? undefined
    : `${used} describes the same cluster, and comes first; give each cluster an ID of its own`;
}

function describeFault(message: string): string {
  return message.startsWith("kubeconfig") ? `its kubeconfig ${message.replace(/^kubeconfig:? /, "")}` : message;
}

function faultKey(origin: string, cluster: string): string {
  return JSON.stringify([origin, cluster]);
}

interface ConnectedClusters {
  /** The Secrets whose access is used, by the IDs of clusters. */
  readonly origins: Readonly<Record<string, string>>;
  /** The faults of kubeconfigs, by `faultKey`. */
  readonly faults: Readonly<Record<string, string>>;
}

/** The clusters that an istiod connects to when it starts. */
const connectedClusters = query("connectedClusters", (q): ConnectedClusters => {
  const allowed = (q.read(environment, "PILOT_INSECURE_MULTICLUSTER_KUBECONFIG_OPTIONS") ?? "").split(",");
  const clusters = new RemoteClusters({
    configCluster: configCluster(q),
    allowedCredentials: new Set(allowed.map((each) => each.trim())),
  });
  const offered = q
    .read(clusterSecrets, `${configCluster(q)}/${namespaceOfSecrets(q)}`)
    .map((secret) => [originOfSecret(secret), new Map(Object.entries(secret.spec.data))] as const);
  clusters.update(new Map(offered));
  return {
    origins: Object.fromEntries(clusters.active().map(({ cluster, origin }) => [cluster, origin])),
    faults: Object.fromEntries(
      offered.flatMap(([origin, kubeconfigs]) =>
        [...kubeconfigs.keys()].flatMap((id) => {
          const fault = clusters.faultOf(origin, id);
          return fault === undefined ? [] : [[faultKey(origin, id), fault] as const];
        }),
      ),
    ),
  };
});
