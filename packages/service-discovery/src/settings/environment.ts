import { clusterIdVariable, configCluster, environment } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import { parseGoBoolean } from "@istiod/settings";

/** A setting of service discovery from istiod's environment. */
interface Setting<T> {
  (q: QueryContext): T;
  /** Names of the environment variables that it reads. */
  readonly variables: readonly string[];
}

function setting<T>(variables: readonly string[], read: (q: QueryContext) => T): Setting<T> {
  return Object.assign((q: QueryContext) => read(q), { variables });
}

function text(variable: string, fallback: string): Setting<string> {
  return setting([variable], (q) => q.read(environment, variable) ?? fallback);
}

/** Like `text`, but an empty value counts as unset. */
function name(variable: string, fallback: string): Setting<string> {
  return setting([variable], (q) => q.read(environment, variable) || fallback);
}

function flag(variable: string, fallback: boolean): Setting<boolean> {
  return setting([variable], (q) => {
    const value = q.read(environment, variable);
    return value === undefined ? fallback : (parseGoBoolean(value) ?? fallback);
  });
}

/** A flag that is true only if all flags are, evaluated in order. */
function all(...flags: readonly Setting<boolean>[]): Setting<boolean> {
  return setting(
    flags.flatMap(({ variables }) => variables),
    (q) => flags.every((each) => each(q)),
  );
}

/** Settings by environment variable, with istiod's defaults (`pilot/pkg/features`). */
export const settings = {
  /** Domain suffix of Kubernetes hostnames; set from the flag `--domain`. */
  domain: name("DOMAIN_SUFFIX", "cluster.local"),
  /** ID of the config cluster. */
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
  /** Endpoints are limited to clients of the same cluster, unless it exports the service. */
  exportedOnly: flag("ENABLE_MCS_SERVICE_DISCOVERY", false),
  /** Imported services also have a clusterset hostname. */
  clusterSetHosts: all(flag("ENABLE_MCS_SERVICE_DISCOVERY", false), flag("ENABLE_MCS_HOST", false)),
  /** The Services' own hostnames resolve only to endpoints in the client's cluster. */
  ownHostsAreLocal: all(
    flag("ENABLE_MCS_SERVICE_DISCOVERY", false),
    flag("ENABLE_MCS_HOST", false),
    flag("ENABLE_MCS_CLUSTER_LOCAL", false),
  ),
  /** Every Service that is not cluster-local counts as exported. */
  exportsAll: flag("ENABLE_MCS_AUTO_EXPORT", false),
} as const;

/** Names of all settings' environment variables. */
export const settingVariables: readonly string[] = Object.values(settings).flatMap(({ variables }) => variables);
