import { clusterIdVariable, configCluster, environment } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";

/** A setting of istiod's environment that discovery depends on. */
interface Setting<T> {
  (q: QueryContext): T;
  /** Names of the environment variables that it is read from. */
  readonly variables: readonly string[];
}

function setting<T>(variables: readonly string[], read: (q: QueryContext) => T): Setting<T> {
  return Object.assign((q: QueryContext) => read(q), { variables });
}

const TRUE = ["1", "t", "T", "TRUE", "true", "True"];
const FALSE = ["0", "f", "F", "FALSE", "false", "False"];

function text(variable: string, fallback: string): Setting<string> {
  return setting([variable], (q) => q.read(environment, variable) ?? fallback);
}

/** Like `text`, but an empty value counts as absent. */
function name(variable: string, fallback: string): Setting<string> {
  return setting([variable], (q) => q.read(environment, variable) || fallback);
}

function flag(variable: string, fallback: boolean): Setting<boolean> {
  return setting([variable], (q) => {
    const value = q.read(environment, variable);
    if (value === undefined) return fallback;
    return TRUE.includes(value) || (fallback && !FALSE.includes(value));
  });
}

/** One that counts only where others are on, which are asked first. */
function all(...flags: readonly Setting<boolean>[]): Setting<boolean> {
  return setting(
    flags.flatMap(({ variables }) => variables),
    (q) => flags.every((each) => each(q)),
  );
}

/** The settings, each by its environment variable of istiod and with its default (`pilot/pkg/features`). */
export const settings = {
  /** Suffix of Kubernetes hostnames; set from istiod's flag `--domain`. */
  domain: name("DOMAIN_SUFFIX", "cluster.local"),
  /** ID of the cluster that holds the configuration. */
  configCluster: setting([clusterIdVariable], configCluster),
  /** The namespace whose `topology.istio.io/network` label names a cluster's network. */
  systemNamespace: name("POD_NAMESPACE", "istio-system"),
  ambient: flag("PILOT_ENABLE_AMBIENT", false),
  dualStack: flag("ISTIO_DUAL_STACK", false),
  ipAutoallocate: flag("PILOT_ENABLE_IP_AUTOALLOCATE", true),
  serviceEntrySelectsPods: flag("PILOT_ENABLE_SERVICEENTRY_SELECT_PODS", true),
  serviceSelectsWorkloadEntries: flag("PILOT_ENABLE_K8S_SELECT_WORKLOAD_ENTRIES", true),
  crossClusterWorkloadEntries: flag("PILOT_ENABLE_CROSS_CLUSTER_WORKLOAD_ENTRY", true),
  workloadEntryHealthChecks: flag("PILOT_ENABLE_WORKLOAD_ENTRY_HEALTHCHECKS", true),
  proxyFindPodByIp: flag("ENABLE_PROXY_FIND_POD_BY_IP", false),
  resolveHostnameGateways: flag("RESOLVE_HOSTNAME_GATEWAYS", true),
  persistentSessionLabel: text("PILOT_PERSISTENT_SESSION_LABEL", "istio.io/persistent-session"),
  persistentSessionHeaderLabel: text("PILOT_PERSISTENT_SESSION_HEADER_LABEL", "istio.io/persistent-session-header"),
  canonicalServiceForMeshExternal: flag("LABEL_CANONICAL_SERVICES_FOR_MESH_EXTERNAL_SERVICE_ENTRIES", false),
  /** Endpoints are for clients of their own cluster alone, unless it exports their service. */
  exportedOnly: flag("ENABLE_MCS_SERVICE_DISCOVERY", false),
  /** Services that clusters import have a host of the whole set of clusters, too. */
  clusterSetHosts: all(flag("ENABLE_MCS_SERVICE_DISCOVERY", false), flag("ENABLE_MCS_HOST", false)),
  /** The clusters' own hosts lead to endpoints of the client's cluster only. */
  ownHostsAreLocal: all(
    flag("ENABLE_MCS_SERVICE_DISCOVERY", false),
    flag("ENABLE_MCS_HOST", false),
    flag("ENABLE_MCS_CLUSTER_LOCAL", false),
  ),
  /** Every Service that is not local to its cluster counts as exported. */
  exportsAll: flag("ENABLE_MCS_AUTO_EXPORT", false),
} as const;

/** Names of the variables of all settings. */
export const settingVariables: readonly string[] = Object.values(settings).flatMap(({ variables }) => variables);
