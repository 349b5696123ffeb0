import {
  ConnectedClusters,
  type Ingestion,
  KubeconfigDirectory,
  type KubeconfigPlace,
  KubeconfigSecrets,
  type RemoteAccess,
  type RemoteClusterChange,
  type RemoteObjects,
} from "@istiod/config-ingestion";
import { multiClusterGroup, multiClusterKinds, remoteKinds } from "@istiod/config-schema";
import { type ApiClient, createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import type { Proxy } from "@istiod/push-context";
import type { Environment } from "@istiod/settings";
import type { Startup } from "../phases/startup.js";
import type { MeshSources } from "../sources.js";
import { variables } from "../variables.js";
import type { SecretClusters } from "@istiod/mesh-source";

interface RemoteClusterInputs {
  /** Client of istiod's own cluster; undefined if none is read. */
  readonly client: ApiClient | undefined;
  readonly sources: MeshSources;
  readonly ingestion: Ingestion<Proxy>;
  readonly secretClusters: SecretClusters;
  readonly remoteAccess: RemoteAccess;
}

/**
 * Reads the remote clusters whose kubeconfigs are in the directory of PILOT_MULTICLUSTER_KUBECONFIG_PATH, otherwise in
 * Secrets of istiod's own cluster. Does nothing without both.
 */
export function openRemoteClusters(
  { values, env, log, meter }: Pick<Startup, "values" | "env" | "log" | "meter">,
  { client, sources, ingestion, secretClusters, remoteAccess }: RemoteClusterInputs,
): void {
  const place = kubeconfigPlace(values, env, client);
  if (place === undefined) return;
  const events = meter.counter({
    name: "remote_cluster_secret_events_total",
    help: "Changes of Secrets or files of remote clusters: add, update or delete.",
    labels: ["event"],
  });
  const limits = { userAgent: "istiod", qps: values.kubernetesApiQPS, burst: values.kubernetesApiBurst };
  const syncTimeout = variables.remoteClusterTimeout.read(env);
  const clusters = new ConnectedClusters({
    place,
    ingestion,
    configCluster: values.clusterID,
    otherClusters: new Map([...sources.remote.keys()].map((cluster) => [cluster, "--clusterDir"])),
    allowedCredentials: new Set(variables.allowedKubeconfigOptions.read(env)),
    objects: remoteObjects(env),
    connect: async (kubeconfig) => createApiClient(await parseKubeconfig(kubeconfig), limits),
    ...(syncTimeout > 0 && { syncTimeout }),
    onEvent: (event) => events.add({ event }),
    onChange: (change) => {
      logChange(log, change);
      remoteAccess.change(change);
      secretClusters.change(change.type === "remove" ? change.cluster : change.remote.cluster, change.type);
    },
  });
  ingestion.add(clusters, { isRequired: true });
}

function kubeconfigPlace(
  { namespace, clusterRegistriesNamespace }: Startup["values"],
  env: Environment,
  client: ApiClient | undefined,
): KubeconfigPlace | undefined {
  const directory = variables.kubeconfigDirectory.read(env);
  if (directory !== "") return new KubeconfigDirectory(directory);
  return client && new KubeconfigSecrets({ client, namespace: clusterRegistriesNamespace || namespace });
}

/** Returns the objects to read: those that Istio's role for remote clusters permits, which has no ServiceAccounts. */
function remoteObjects(env: Environment): RemoteObjects {
  const kinds = remoteKinds.filter(({ group, kind }) => group !== multiClusterGroup && kind !== "ServiceAccount");
  const version = variables.mcsApiVersion.read(env) || undefined;
  return {
    kinds: [...kinds, ...multiClusterKinds(variables.mcsApiGroup.read(env), version)],
    revision: variables.revision.read(env),
    namespace: variables.watchNamespace.read(env),
    resources: { ignore: variables.ignoredResources.read(env), include: variables.includedResources.read(env) },
  };
}

function logChange(log: Startup["log"], change: RemoteClusterChange): void {
  if (change.type === "remove") log.info({ cluster: change.cluster }, "Delete cluster");
  else {
    const { cluster, origin } = change.remote;
    log.info({ cluster, config: origin }, change.type === "add" ? "Add cluster" : "Update cluster");
  }
}
