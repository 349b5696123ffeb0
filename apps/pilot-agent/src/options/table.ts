import {
  booleanSetting,
  durationSetting,
  enumSetting,
  integerSetting,
  numberSetting,
  type SettingValues,
  stringSetting,
} from "@istiod/settings";

const portRange = { min: 0, max: 65535 };

/** Flags of Istio's agent. */
const flags = {
  domain: stringSetting({
    flag: "domain",
    default: "",
    help: "DNS domain of the workload; empty for ${POD_NAMESPACE}.svc.cluster.local",
  }),
  meshConfigFile: stringSetting({
    flag: "meshConfig",
    placeholder: "file",
    default: "./etc/istio/config/mesh",
    help: "mesh configuration, or the defaults if the file does not exist; overridden by PROXY_CONFIG and the annotation proxy.istio.io/config",
  }),
  serviceCluster: stringSetting({
    flag: "serviceCluster",
    placeholder: "name",
    default: "istio-proxy",
    help: "service cluster of Envoy if the proxy configuration has none",
  }),
  proxyLogLevel: stringSetting({
    flag: "proxyLogLevel",
    placeholder: "level",
    default: "warning",
    help: "log level of Envoy: trace, debug, info, warning, error, critical or off; may be followed by scopes, as in warning,upstream:debug",
  }),
  proxyComponentLogLevel: stringSetting({
    flag: "proxyComponentLogLevel",
    placeholder: "levels",
    default: "",
    help: "log levels of Envoy's components; prefer --proxyLogLevel",
  }),
  concurrency: integerSetting({
    flag: "concurrency",
    default: 0,
    help: "number of Envoy's worker threads; 0 for the proxy configuration's, or one per CPU",
  }),
  outlierLogPath: stringSetting({
    flag: "outlierLogPath",
    placeholder: "file",
    default: "",
    help: "file in which Envoy logs outlier detection",
  }),
  logAsJson: booleanSetting({ flag: "log_as_json", default: false, help: "write logs of the agent and Envoy as JSON" }),
  logLevel: stringSetting({
    flag: "log_output_level",
    placeholder: "level",
    default: "info",
    help: "log level of the agent: debug, info, warn, error or silent, also as default:info",
  }),
} as const;

const workload = {
  instanceIp: stringSetting({
    variable: "INSTANCE_IP",
    default: "",
    help: "IP address of the workload, the first in its node metadata",
  }),
  podName: stringSetting({ variable: "POD_NAME", default: "", help: "name of the Pod" }),
  podNamespace: stringSetting({ variable: "POD_NAMESPACE", default: "", help: "namespace of the Pod" }),
  serviceAccount: stringSetting({ variable: "SERVICE_ACCOUNT", default: "", help: "service account of the workload" }),
  trustDomain: stringSetting({
    variable: "TRUST_DOMAIN",
    default: "cluster.local",
    help: "trust domain of the identity in the CSR; the CA uses that of the credentials",
  }),
  proxyConfig: stringSetting({
    variable: "PROXY_CONFIG",
    default: "",
    help: "proxy configuration as YAML, which overrides the mesh's",
  }),
  clusterId: stringSetting({ variable: "ISTIO_META_CLUSTER_ID", default: "", help: "ID of the workload's cluster" }),
  hostIp: stringSetting({
    variable: "HOST_IP",
    default: "",
    help: "replacement of $(HOST_IP) in collector addresses and in ISTIO_BOOTSTRAP_OVERRIDE",
  }),
  cpuLimit: integerSetting({
    variable: "ISTIO_CPU_LIMIT",
    default: 0,
    help: "CPU limit of the container, the number of Envoy's worker threads if nothing else sets it",
  }),
} as const;

const certificates = {
  caAddress: stringSetting({
    variable: "CA_ADDR",
    default: "",
    help: "address of the certificate authority; empty for the discovery address",
  }),
  caProvider: enumSetting<"Citadel">(
    { variable: "CA_PROVIDER", default: "Citadel", help: "kind of certificate authority; Citadel is istiod's" },
    ["Citadel"],
  ),
  caRoot: stringSetting({
    variable: "CA_ROOT_CA",
    default: "",
    help: "PEM file with the root certificates of the certificate authority, or SYSTEM; empty for ./var/run/secrets/istio/root-cert.pem",
  }),
  xdsRoot: stringSetting({
    variable: "XDS_ROOT_CA",
    default: "",
    help: "PEM file with the root certificates of istiod's xDS server, or SYSTEM; empty for ./var/run/secrets/istio/root-cert.pem",
  }),
  istiodSan: stringSetting({
    variable: "ISTIOD_SAN",
    default: "",
    help: "name that istiod's certificate must have; empty for the host of the discovery address, or istiod.istio-system.svc for localhost; not used for an authority in CA_ADDR",
  }),
  secretTtl: durationSetting({
    variable: "SECRET_TTL",
    default: 24 * 3_600_000,
    help: "requested lifetime of certificates",
  }),
  graceRatio: numberSetting({
    variable: "SECRET_GRACE_PERIOD_RATIO",
    default: 0.5,
    help: "remaining fraction of a certificate's lifetime at which it is renewed",
  }),
  graceJitter: numberSetting({
    variable: "SECRET_GRACE_PERIOD_RATIO_JITTER",
    default: 0.01,
    help: "maximum jitter of that fraction, in both directions",
  }),
  rsaKeySize: integerSetting(
    { variable: "WORKLOAD_RSA_KEY_SIZE", default: 2048, help: "size of the workload's RSA key in bits" },
    { min: 2048 },
  ),
  eccAlgorithm: enumSetting<"" | "ECDSA">(
    {
      variable: "ECC_SIGNATURE_ALGORITHM",
      default: "",
      help: "elliptic curve algorithm of the workload's key: ECDSA; empty for RSA",
    },
    ["ECDSA"],
  ),
  eccCurve: enumSetting<"P256" | "P384">(
    { variable: "ECC_CURVE", default: "P256", help: "curve of an ECDSA key: P256 or P384" },
    ["P256", "P384"],
  ),
  pkcs8Key: booleanSetting({
    variable: "PKCS8_KEY",
    default: false,
    help: "encode keys as PKCS #8 instead of PKCS #1 and SEC 1",
  }),
  outputCerts: stringSetting({
    variable: "OUTPUT_CERTS",
    default: "",
    help: "directory to which key.pem, cert-chain.pem and root-cert.pem are written; empty to disable",
  }),
  provCert: stringSetting({
    variable: "PROV_CERT",
    default: "",
    help: "directory with key.pem, cert-chain.pem and root-cert.pem that authenticate a virtual machine to the certificate authority",
  }),
  fileMountedCerts: booleanSetting({
    variable: "FILE_MOUNTED_CERTS",
    default: false,
    help: "read certificates from files only, without a certificate authority",
  }),
  fileDebounce: durationSetting({
    variable: "FILE_DEBOUNCE_DURATION",
    default: 100,
    help: "quiet period after a change of a certificate file before it is read",
  }),
  workloadIdentitySocket: stringSetting({
    variable: "WORKLOAD_IDENTITY_SOCKET_FILE",
    default: "socket",
    help: "file name of the SDS socket in ./var/run/secrets/workload-spiffe-uds; another program must serve any but the default",
  }),
  certSigner: stringSetting({
    variable: "ISTIO_META_CERT_SIGNER",
    default: "",
    help: "signer that the certificate authority should use",
  }),
  tokenFile: stringSetting({
    variable: "ISTIO_TOKEN_FILE",
    default: "./var/run/secrets/tokens/istio-token",
    help: "file with the workload's token",
    isExtension: true,
  }),
  caPlaintext: booleanSetting({
    variable: "CA_PLAINTEXT",
    default: false,
    help: "connect to the certificate authority without TLS, as always to port 15010; only for trusted networks",
    isExtension: true,
  }),
} as const;

const envoy = {
  envoyPath: stringSetting({
    variable: "ENVOY_PATH",
    default: "",
    help: "path of the Envoy binary; empty for the proxy configuration's",
    isExtension: true,
  }),
  statusPort: integerSetting(
    { variable: "ENVOY_STATUS_PORT", default: 15021, help: "port of Envoy's health checks, which the agent answers" },
    portRange,
  ),
  prometheusPort: integerSetting(
    { variable: "ENVOY_PROMETHEUS_PORT", default: 15090, help: "port of Envoy's metrics" },
    portRange,
  ),
  secureMetricsPort: integerSetting(
    {
      variable: "ENVOY_SECURE_METRICS_PORT",
      default: 0,
      help: "port of Envoy's metrics over mutual TLS; 0 to disable",
    },
    portRange,
  ),
  secureMergedMetricsPort: integerSetting(
    {
      variable: "ENVOY_SECURE_MERGED_METRICS_PORT",
      default: 0,
      help: "port of the merged metrics over mutual TLS; 0 to disable",
    },
    portRange,
  ),
  bindAddress: stringSetting({
    variable: "AGENT_BIND_ADDRESS",
    default: "",
    help: "address of all ports of the agent and Envoy's own, so that several agents share a machine; empty for loopback for Envoy's admin port and all addresses for the others",
    isExtension: true,
  }),
  minimumDrain: durationSetting({
    variable: "MINIMUM_DRAIN_DURATION",
    default: 5000,
    help: "minimum drain time before connections are counted, with EXIT_ON_ZERO_ACTIVE_CONNECTIONS",
  }),
  exitOnZeroConnections: booleanSetting({
    variable: "EXIT_ON_ZERO_ACTIVE_CONNECTIONS",
    default: false,
    help: "exit when the last connection is closed, instead of after terminationDrainDuration",
  }),
  skipDeprecatedLogs: booleanSetting({
    variable: "ENVOY_SKIP_DEPRECATED_LOGS",
    default: true,
    help: "do not log the use of deprecated fields",
  }),
  disableEnvoy: booleanSetting({
    variable: "DISABLE_ENVOY",
    default: false,
    help: "do not start Envoy, for workloads that are xDS clients themselves",
  }),
  bootstrapOverride: stringSetting({
    variable: "ISTIO_BOOTSTRAP_OVERRIDE",
    default: "",
    help: "YAML or JSON file that Envoy merges into its bootstrap",
  }),
  coreDump: booleanSetting({
    variable: "ISTIO_ENVOY_ENABLE_CORE_DUMP",
    default: false,
    help: "enable core dumps of Envoy",
  }),
  deltaXds: booleanSetting({
    variable: "ISTIO_DELTA_XDS",
    default: true,
    help: "use delta xDS instead of state of the world",
  }),
  dualStack: booleanSetting({
    variable: "ISTIO_DUAL_STACK",
    default: false,
    help: "listen on IPv4 and IPv6 if the workload has both",
  }),
  statusProxyProtocol: booleanSetting({
    variable: "ENVOY_STATUS_PORT_ENABLE_PROXY_PROTOCOL",
    default: false,
    help: "accept the PROXY protocol on the port of health checks",
  }),
  compliancePolicy: enumSetting<"" | "fips-140-2" | "fips-140-3">(
    { variable: "COMPLIANCE_POLICY", default: "", help: "policy that limits TLS: fips-140-2 or fips-140-3" },
    ["fips-140-2", "fips-140-3"],
  ),
  metadataDiscovery: stringSetting({
    variable: "PEER_METADATA_DISCOVERY",
    default: "",
    help: "discover peer metadata by xDS: true or false; empty to enable it if ISTIO_META_ENABLE_HBONE is set and Envoy is Istio's build",
  }),
} as const;

const names = {
  dnsCapture: booleanSetting({
    variable: "ISTIO_META_DNS_CAPTURE",
    default: false,
    help: "serve the DNS queries of a sidecar's workload",
  }),
  dnsServer: booleanSetting({
    variable: "ISTIO_META_ENABLE_DNS_SERVER",
    default: false,
    help: "serve DNS queries for any type of proxy",
  }),
  dnsAddress: stringSetting({
    variable: "DNS_PROXY_ADDR",
    default: "localhost:15053",
    help: "address of the DNS server, UDP and TCP",
  }),
  dnsForwardParallel: booleanSetting({
    variable: "DNS_FORWARD_PARALLEL",
    default: false,
    help: "forward queries to all upstream name servers at once",
  }),
  dnsForwardTimeout: durationSetting({
    variable: "DNS_FORWARD_TIMEOUT",
    default: 5000,
    help: "timeout of an upstream name server",
  }),
  resolvConf: stringSetting({
    variable: "DNS_RESOLV_CONF",
    default: "/etc/resolv.conf",
    help: "file with the upstream name servers and search domains",
    isExtension: true,
  }),
} as const;

const places = {
  directory: stringSetting({
    flag: "directory",
    variable: "AGENT_DIRECTORY",
    placeholder: "dir",
    default: ".",
    help: "directory to which all relative paths are relative, Envoy's too; nothing is written outside unless a path is absolute",
    isExtension: true,
  }),
  prometheusScrape: stringSetting({
    variable: "ISTIO_PROMETHEUS_ANNOTATIONS",
    default: "",
    help: "JSON of the application's scrape annotations, whose metrics are merged into /stats/prometheus",
  }),
  localMetricsOnly: booleanSetting({
    variable: "METRICS_LOCALHOST_ACCESS_ONLY",
    default: false,
    help: "serve metrics of the agent's status port to callers on this machine only",
  }),
  appProbers: stringSetting({
    variable: "ISTIO_KUBE_APP_PROBERS",
    default: "",
    help: "JSON of the application's probes, served under /app-health/ and /app-lifecycle/",
  }),
} as const;

/** Flags of Istio's agent that are accepted for compatibility. */
const ignoredFlags = {
  stsPort: stringSetting({
    flag: "stsPort",
    placeholder: "port",
    default: "",
    help: "port of the token exchange",
    ignored: "token exchange is not implemented yet",
  }),
  tokenManagerPlugin: stringSetting({
    flag: "tokenManagerPlugin",
    default: "",
    help: "plugin of the token exchange",
    ignored: "token exchange is not implemented yet",
  }),
  templateFile: stringSetting({
    flag: "templateFile",
    placeholder: "file",
    default: "",
    help: "template of Envoy's bootstrap",
    ignored: "Envoy's bootstrap has no template; use ISTIO_BOOTSTRAP_OVERRIDE",
  }),
  profiling: booleanSetting({
    flag: "profiling",
    default: true,
    help: "serve profiles",
    ignored: "the agent serves no profiles",
  }),
  log_target: stringSetting({
    flag: "log_target",
    default: "",
    help: "output of the log",
    ignored: "the agent writes one log, to standard error",
  }),
  log_stacktrace_level: stringSetting({
    flag: "log_stacktrace_level",
    default: "",
    help: "minimum level of log lines with a stack trace",
    ignored: "the agent writes one log, to standard error",
  }),
  log_caller: stringSetting({
    flag: "log_caller",
    default: "",
    help: "log scopes with caller information",
    ignored: "the agent writes one log, to standard error",
  }),
} as const;

/** The settings of `pilot-agent proxy`, by the groups of the reference. */
export const optionTable = {
  Flags: flags,
  Workload: workload,
  Certificates: certificates,
  Envoy: envoy,
  "DNS server": names,
  "Paths and probes": places,
  "Ignored flags": ignoredFlags,
} as const;

/** The settings of `pilot-agent proxy` that have an effect, by property. */
export const allOptions = { ...flags, ...workload, ...certificates, ...envoy, ...names, ...places } as const;

/** The values of the settings. Durations are milliseconds. */
export type Options = SettingValues<typeof allOptions>;
