import {
  booleanSetting,
  durationSetting,
  enumSetting,
  type Environment,
  integerSetting,
  invalidSetting,
  listSetting,
  mapSetting,
  numberSetting,
  readSettings,
  type SettingValues,
  stringArraySetting,
  stringSetting,
} from "@istiod/settings";

/** The flags that define the objects of a mesh. All sub-commands that read a mesh have them. */
export const meshFlags = {
  configDir: stringSetting({
    flag: "configDir",
    placeholder: "dir",
    default: "",
    help: "directory of YAML files with all objects of the mesh, watched",
  }),
  clusterDir: stringArraySetting({
    flag: "clusterDir",
    placeholder: "id=dir",
    default: [],
    help: "directory of the Kubernetes objects of another cluster of the mesh, watched; repeatable",
    isExtension: true,
  }),
  meshConfig: stringSetting({
    flag: "meshConfig",
    placeholder: "file",
    default: "./etc/istio/config/mesh",
    help: "mesh configuration; the defaults if the file does not exist",
  }),
  networksConfig: stringSetting({
    flag: "networksConfig",
    placeholder: "file",
    default: "./etc/istio/config/meshNetworks",
    help: "mesh networks; none if the file does not exist",
  }),
  clusterID: stringSetting({
    flag: "clusterID",
    variable: "CLUSTER_ID",
    placeholder: "id",
    default: "Kubernetes",
    help: "ID of the cluster that istiod runs in",
  }),
  domain: stringSetting({
    flag: "domain",
    placeholder: "domain",
    default: "cluster.local",
    help: "DNS domain suffix of the cluster",
  }),
  namespace: stringSetting({
    flag: "namespace",
    short: "n",
    variable: "POD_NAMESPACE",
    placeholder: "namespace",
    default: "istio-system",
    help: "namespace that istiod runs in",
  }),
} as const;

/** The flags of how a serving istiod reads the directories of objects. */
const configFileFlags = {
  stateDir: stringSetting({
    flag: "stateDir",
    placeholder: "dir",
    default: "",
    help: "directory of the last good versions of policies in --configDir or the cluster, which replicas can share; empty: a policy that is rejected at startup fails closed",
    isExtension: true,
  }),
  configSourceTokenFile: stringSetting({
    flag: "configSourceTokenFile",
    placeholder: "file",
    default: "",
    help: "bearer token for the xds:// servers of configSources that are called over TLS, read for each connection",
    isExtension: true,
  }),
  maxConfigFileBytes: integerSetting(
    {
      flag: "maxConfigFileBytes",
      placeholder: "bytes",
      default: 64 * 1024 * 1024,
      help: "maximum size of a file of objects; a larger one is rejected",
      isExtension: true,
    },
    { min: 1024, max: 512 * 1024 * 1024 },
  ),
  maxConfigFileDocuments: integerSetting(
    {
      flag: "maxConfigFileDocuments",
      placeholder: "number",
      default: 100_000,
      help: "maximum number of documents, and of items of long Lists, of a file of objects; a file with more is rejected",
      isExtension: true,
    },
    { min: 1 },
  ),
} as const;

const servingFlags = {
  grpcAddr: stringSetting({
    flag: "grpcAddr",
    placeholder: "addr",
    default: ":15010",
    help: "address of plaintext xDS; empty to disable",
  }),
  secureGRPCAddr: stringSetting({
    flag: "secureGRPCAddr",
    placeholder: "addr",
    default: ":15012",
    help: "address of xDS and the CA over TLS; empty to disable",
  }),
  httpAddr: stringSetting({
    flag: "httpAddr",
    placeholder: "addr",
    default: ":8080",
    help: "address of readiness and debug endpoints",
  }),
  httpsAddr: stringSetting({
    flag: "httpsAddr",
    placeholder: "addr",
    default: ":15017",
    help: "address of the admission webhooks",
    ignored: "admission webhooks are not implemented yet",
  }),
  monitoringAddr: stringSetting({
    flag: "monitoringAddr",
    placeholder: "addr",
    default: ":15014",
    help: "address of metrics; empty to serve them on --httpAddr",
  }),
  httpAllowedHosts: listSetting({
    flag: "httpAllowedHosts",
    placeholder: "names",
    default: [],
    help: "host names by which programs on this machine may call the HTTP ports, beside localhost and addresses",
    isExtension: true,
  }),
  shutdownDuration: durationSetting({
    flag: "shutdownDuration",
    default: 10_000,
    help: "grace period of the shutdown, over which streams are closed evenly",
  }),
  keepaliveInterval: durationSetting({
    flag: "keepaliveInterval",
    variable: "GRPC_KEEPALIVE_INTERVAL",
    default: 30_000,
    help: "interval of HTTP/2 pings on a connection; 0s for gRPC's default of 2h",
  }),
  keepaliveTimeout: durationSetting({
    flag: "keepaliveTimeout",
    variable: "GRPC_KEEPALIVE_TIMEOUT",
    default: 10_000,
    help: "timeout of a ping, after which the connection is closed; 0s for gRPC's default of 20s",
  }),
  keepaliveMaxServerConnectionAge: durationSetting({
    flag: "keepaliveMaxServerConnectionAge",
    default: 0,
    help: "maximum age of a connection, with a jitter of 10% and a grace period of 10s; 0s for no limit",
  }),
  profile: booleanSetting({ flag: "profile", default: true, help: "serve profiles at /debug/pprof/" }),
  readyFile: stringSetting({
    flag: "readyFile",
    placeholder: "file",
    default: "",
    help: "file to write when the first snapshot is served",
    isExtension: true,
  }),
  prepareLimit: durationSetting({
    flag: "prepareLimit",
    default: 30_000,
    help: "maximum time of the startup warm-up, which precomputes resources for the mesh's Pods; 0s to disable",
    isExtension: true,
  }),
} as const;

const certificateFlags = {
  tlsCertFile: stringSetting({
    flag: "tlsCertFile",
    placeholder: "file",
    default: "",
    help: "certificate of the TLS servers, reloaded on change; empty to issue one by the CA",
  }),
  tlsKeyFile: stringSetting({
    flag: "tlsKeyFile",
    placeholder: "file",
    default: "",
    help: "key of --tlsCertFile, reloaded with it",
  }),
  caCertFile: stringSetting({
    flag: "caCertFile",
    placeholder: "file",
    default: "",
    help: "root certificates for client certificates of --caCertTrustDomain in addition to the CA's own, reloaded on change",
  }),
  caCertTrustDomain: stringSetting({
    flag: "caCertTrustDomain",
    placeholder: "domain",
    default: "",
    isExtension: true,
    help: "trust domain of the roots in --caCertFile, whose identities they prove; empty to reject their certificates",
  }),
  tlsMinVersion: enumSetting<"1.2" | "1.3">(
    {
      flag: "tls-min-version",
      placeholder: "version",
      default: "1.2",
      help: "minimum TLS version of the TLS servers: 1.2 or 1.3",
    },
    ["1.2", "1.3"],
  ),
  tlsCipherSuites: listSetting({
    flag: "tls-cipher-suites",
    placeholder: "names",
    default: [],
    help: "TLS 1.2 cipher suites of the TLS servers by their names in Go, separated by commas; empty for the defaults",
  }),
  caDir: stringSetting({
    flag: "caDir",
    placeholder: "dir",
    default: "",
    help: "directory of the self-signed root, created if absent; empty for no CA unless one is plugged in by ROOT_CA_DIR",
    isExtension: true,
  }),
  caMaxQueuedRequests: integerSetting(
    {
      flag: "caMaxQueuedRequests",
      default: 5000,
      help: "maximum number of authenticated certificate requests that wait to be signed",
      isExtension: true,
    },
    { min: 1, max: 1_000_000 },
  ),
  tokensDir: stringSetting({
    flag: "tokensDir",
    placeholder: "dir",
    default: "",
    help: "directory of accepted bearer tokens: the file NAMESPACE/SERVICEACCOUNT holds one of at least 16 characters",
    isExtension: true,
  }),
} as const;

const kubernetesFlags = {
  registries: listSetting({
    flag: "registries",
    placeholder: "names",
    default: ["Kubernetes"],
    help: "service registries: Kubernetes; empty to read no cluster",
  }),
  kubeconfig: stringSetting({
    flag: "kubeconfig",
    placeholder: "file",
    default: "",
    help: "kubeconfig of the cluster to read; empty for the cluster that istiod runs in, if any",
  }),
  kubernetesApiQPS: numberSetting({
    flag: "kubernetesApiQPS",
    default: 80,
    help: "maximum rate of requests to the API server, per second",
  }),
  kubernetesApiBurst: integerSetting({
    flag: "kubernetesApiBurst",
    default: 160,
    help: "maximum burst of requests to the API server",
  }),
  clusterRegistriesNamespace: stringSetting({
    flag: "clusterRegistriesNamespace",
    placeholder: "namespace",
    default: "",
    help: "namespace of the Secrets of remote clusters; empty for --namespace",
  }),
  clusterAliases: mapSetting({
    flag: "clusterAliases",
    placeholder: "alias=id",
    default: {},
    help: "aliases by which proxies and callers may name a cluster, at most one for each",
  }),
  cniNamespace: stringSetting({
    flag: "cniNamespace",
    placeholder: "namespace",
    default: "",
    help: "namespace of the CNI plugin",
    ignored: "the untaint controller is not implemented yet",
  }),
} as const;

/** The flags of Istio's logging, and of ControlZ, which changes log levels at runtime. */
const loggingFlags = {
  log_output_level: stringSetting({
    flag: "log_output_level",
    placeholder: "levels",
    default: "info",
    help: "minimum level of log lines: a level, or scope:level,…; levels are none, fatal, error, warn, info and debug",
  }),
  log_stacktrace_level: stringSetting({
    flag: "log_stacktrace_level",
    placeholder: "levels",
    default: "none",
    help: "minimum level of log lines with a stack trace, in the same form",
  }),
  log_caller: stringSetting({
    flag: "log_caller",
    placeholder: "scopes",
    default: "",
    help: "log scopes with caller information, separated by commas; all for every scope",
  }),
  log_as_json: booleanSetting({
    flag: "log_as_json",
    default: true,
    help: "write log lines as JSON instead of columns",
  }),
  log_target: stringArraySetting({
    flag: "log_target",
    placeholder: "path",
    default: ["stdout"],
    help: "output of the log: stdout, stderr or a file; repeatable",
  }),
  ctrlz_address: stringSetting({
    flag: "ctrlz_address",
    placeholder: "host",
    default: "localhost",
    help: "address of ControlZ, which accepts requests from this machine only",
  }),
  ctrlz_port: integerSetting(
    { flag: "ctrlz_port", placeholder: "port", default: 9876, help: "port of ControlZ; 0 for any free port" },
    { min: 0, max: 65535 },
  ),
} as const;

/** The flags of `istiod discovery`, by the groups of the reference. */
export const flagGroups = {
  Mesh: { ...meshFlags, ...configFileFlags },
  Servers: servingFlags,
  Certificates: certificateFlags,
  Kubernetes: kubernetesFlags,
  Logging: loggingFlags,
} as const;

/**
 * The flags of `istiod discovery` with the names and defaults of Istio's `pilot-discovery discovery`, and extensions
 * where marked.
 */
export const flags = {
  ...meshFlags,
  ...configFileFlags,
  ...servingFlags,
  ...certificateFlags,
  ...kubernetesFlags,
  ...loggingFlags,
} as const;

/** Values of the flags that define the objects of a mesh. */
export type MeshFlags = SettingValues<typeof meshFlags>;

/** Values of the flags of how directories of objects are read. */
export type ConfigFileFlags = SettingValues<typeof configFileFlags>;

/** The values of the flags. Durations are milliseconds. */
export type FlagValues = SettingValues<typeof flags>;

/** Returns the defaults of all flags, for programs that embed istiod. @throws SettingError for an invalid variable */
export function flagDefaults(env: Environment): FlagValues {
  return readSettings(flags, env);
}

/** A host and port to listen on. */
export interface ListenAddress {
  readonly host: string | undefined;
  readonly port: number;
}

/**
 * Parses `host:port`, `:port` or `[v6]:port`. Returns undefined for an empty address.
 *
 * @throws SettingError naming the flag
 */
export function listenAddress(flag: string, value: string): ListenAddress | undefined {
  if (value === "") return undefined;
  const match = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(value);
  const port = Number(match?.[3]);
  if (!match || port > 65535) throw invalidSetting(`--${flag}`, value, "host:port, :port or [v6]:port");
  return { host: match[1] ?? (match[2] || undefined), port };
}
