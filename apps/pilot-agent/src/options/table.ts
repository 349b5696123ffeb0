import { duration, integer, number, type Option, text, toggle } from "./option.js";

/** What Istio's agent takes as flags. */
const flags = {
  domain: text({
    flag: "domain",
    default: "",
    help: "DNS domain of the workload. Empty: ${POD_NAMESPACE}.svc.cluster.local.",
  }),
  meshConfigFile: text({
    flag: "meshConfig",
    default: "./etc/istio/config/mesh",
    help: "File with the mesh configuration; an absent one means defaults. PROXY_CONFIG and the annotation proxy.istio.io/config override it.",
  }),
  serviceCluster: text({
    flag: "serviceCluster",
    default: "istio-proxy",
    help: "Name of the Envoy cluster where the proxy configuration gives none.",
  }),
  proxyLogLevel: text({
    flag: "proxyLogLevel",
    default: "warning",
    help: "Envoy's log level: trace, debug, info, warning, error, critical or off; scopes may follow, as in warning,upstream:debug.",
  }),
  proxyComponentLogLevel: text({
    flag: "proxyComponentLogLevel",
    default: "",
    help: "Envoy's log level by component. Prefer --proxyLogLevel.",
  }),
  concurrency: integer({
    flag: "concurrency",
    default: 0,
    help: "Envoy's worker threads. 0: what the proxy configuration says, or one a CPU.",
  }),
  outlierLogPath: text({ flag: "outlierLogPath", default: "", help: "File to which Envoy logs ejected endpoints." }),
  logAsJson: toggle({ flag: "log_as_json", default: false, help: "Write logs as JSON, Envoy's too." }),
  logLevel: text({
    flag: "log_output_level",
    default: "info",
    help: "The agent's own log level: debug, info, warn, error or silent; the form default:info is accepted.",
  }),
} as const;

const workload = {
  instanceIp: text({
    env: "INSTANCE_IP",
    default: "",
    help: "The workload's address; the first of those that istiod is told.",
  }),
  podName: text({ env: "POD_NAME", default: "", help: "The workload's name." }),
  podNamespace: text({ env: "POD_NAMESPACE", default: "", help: "The workload's namespace." }),
  serviceAccount: text({ env: "SERVICE_ACCOUNT", default: "", help: "The workload's service account." }),
  trustDomain: text({
    env: "TRUST_DOMAIN",
    default: "cluster.local",
    help: "Trust domain of the identity that the signing request names; the authority decides by the token.",
  }),
  proxyConfig: text({ env: "PROXY_CONFIG", default: "", help: "Proxy configuration in YAML, over that of the mesh." }),
  clusterId: text({ env: "ISTIO_META_CLUSTER_ID", default: "", help: "The cluster that the workload belongs to." }),
  hostIp: text({
    env: "HOST_IP",
    default: "",
    help: "What $(HOST_IP) stands for in addresses of collectors and in ISTIO_BOOTSTRAP_OVERRIDE.",
  }),
  cpuLimit: integer({
    env: "ISTIO_CPU_LIMIT",
    default: 0,
    help: "CPUs that the container may use; sets Envoy's worker threads where nothing else does.",
  }),
} as const;

const certificates = {
  caAddress: text({
    env: "CA_ADDR",
    default: "",
    help: "Address of the certificate authority. Empty: the discovery address.",
  }),
  caProvider: text({
    env: "CA_PROVIDER",
    default: "Citadel",
    help: "Kind of authority; Citadel (istiod's service) is the one supported.",
  }),
  caRoot: text({
    env: "CA_ROOT_CA",
    default: "",
    help: "PEM file that the authority's certificate is verified against; SYSTEM: the machine's roots. Empty: ./var/run/secrets/istio/root-cert.pem.",
  }),
  xdsRoot: text({ env: "XDS_ROOT_CA", default: "", help: "The same for istiod's discovery port." }),
  istiodSan: text({
    env: "ISTIOD_SAN",
    default: "",
    help: "Name expected in istiod's certificate, where istiod is reached by another, such as an IP address. Empty: the host of the discovery address, or istiod.istio-system.svc for localhost. Without effect on an authority named by CA_ADDR.",
  }),
  secretTtl: duration({ env: "SECRET_TTL", default: 24 * 3_600_000, help: "Lifetime asked for a certificate." }),
  graceRatio: number({
    env: "SECRET_GRACE_PERIOD_RATIO",
    default: 0.5,
    help: "Part of a certificate's life that is left when it is renewed.",
  }),
  graceJitter: number({
    env: "SECRET_GRACE_PERIOD_RATIO_JITTER",
    default: 0.01,
    help: "That part is spread by as much up or down.",
  }),
  rsaKeySize: integer({ env: "WORKLOAD_RSA_KEY_SIZE", default: 2048, help: "Bits of the workload's RSA key." }),
  eccAlgorithm: text({ env: "ECC_SIGNATURE_ALGORITHM", default: "", help: "ECDSA: an elliptic key in place of RSA." }),
  eccCurve: text({ env: "ECC_CURVE", default: "P256", help: "Curve of that key: P256 or P384." }),
  pkcs8Key: toggle({ env: "PKCS8_KEY", default: false, help: "Encode keys as PKCS#8 in place of PKCS#1 and SEC1." }),
  outputCerts: text({
    env: "OUTPUT_CERTS",
    default: "",
    help: "Directory to which key.pem, cert-chain.pem and root-cert.pem are written. Empty: none.",
  }),
  provCert: text({
    env: "PROV_CERT",
    default: "",
    help: "Directory with key.pem, cert-chain.pem and root-cert.pem by which a machine proves its identity to the authority.",
  }),
  fileMountedCerts: toggle({
    env: "FILE_MOUNTED_CERTS",
    default: false,
    help: "Take certificates only from files; ask no authority.",
  }),
  fileDebounce: duration({
    env: "FILE_DEBOUNCE_DURATION",
    default: 100,
    help: "Quiet time after a change of a certificate's file before it is read.",
  }),
  workloadIdentitySocket: text({
    env: "WORKLOAD_IDENTITY_SOCKET_FILE",
    default: "socket",
    help: "Name of the SDS socket in ./var/run/secrets/workload-spiffe-uds; any other than the default must be served by somebody else.",
  }),
  certSigner: text({ env: "ISTIO_META_CERT_SIGNER", default: "", help: "Signer that the authority is asked to use." }),
  tokenFile: text({
    env: "ISTIO_TOKEN_FILE",
    default: "./var/run/secrets/tokens/istio-token",
    own: true,
    help: "File with the token by which the workload proves its identity.",
  }),
  caPlaintext: toggle({
    env: "CA_PLAINTEXT",
    default: false,
    own: true,
    help: "Speak to the authority without TLS, as is always done where its port is 15010. Only for networks that nobody else can read.",
  }),
} as const;

const envoy = {
  envoyPath: text({
    env: "ENVOY_PATH",
    default: "",
    own: true,
    help: "The Envoy binary. Empty: what the proxy configuration names.",
  }),
  statusPort: integer({
    env: "ENVOY_STATUS_PORT",
    default: 15021,
    help: "Port on which Envoy answers health checks by asking the agent.",
  }),
  prometheusPort: integer({
    env: "ENVOY_PROMETHEUS_PORT",
    default: 15090,
    help: "Port on which Envoy gives its own metrics.",
  }),
  secureMetricsPort: integer({
    env: "ENVOY_SECURE_METRICS_PORT",
    default: 0,
    help: "Port on which Envoy gives its metrics over mutual TLS. 0: none.",
  }),
  secureMergedMetricsPort: integer({
    env: "ENVOY_SECURE_MERGED_METRICS_PORT",
    default: 0,
    help: "The same for the merged metrics. 0: none.",
  }),
  bindAddress: text({
    env: "AGENT_BIND_ADDRESS",
    default: "",
    own: true,
    help: "One address for everything that the agent and Envoy's own ports listen on, so that many agents share a machine. Empty: loopback for Envoy's administration, all addresses for the rest.",
  }),
  minimumDrain: duration({
    env: "MINIMUM_DRAIN_DURATION",
    default: 5000,
    help: "With EXIT_ON_ZERO_ACTIVE_CONNECTIONS: time to drain before connections are counted.",
  }),
  exitOnZeroConnections: toggle({
    env: "EXIT_ON_ZERO_ACTIVE_CONNECTIONS",
    default: false,
    help: "End as soon as the last connection has closed, and not before, instead of after terminationDrainDuration.",
  }),
  skipDeprecatedLogs: toggle({
    env: "ENVOY_SKIP_DEPRECATED_LOGS",
    default: true,
    help: "Envoy does not log the use of deprecated fields.",
  }),
  disableEnvoy: toggle({
    env: "DISABLE_ENVOY",
    default: false,
    help: "Start no Envoy: for workloads that speak xDS themselves.",
  }),
  bootstrapOverride: text({
    env: "ISTIO_BOOTSTRAP_OVERRIDE",
    default: "",
    help: "YAML or JSON file that Envoy merges over its bootstrap.",
  }),
  coreDump: toggle({ env: "ISTIO_ENVOY_ENABLE_CORE_DUMP", default: false, help: "Let Envoy write core dumps." }),
  deltaXds: toggle({
    env: "ISTIO_DELTA_XDS",
    default: true,
    help: "Envoy asks for differences (delta xDS) and not for the whole state.",
  }),
  dualStack: toggle({
    env: "ISTIO_DUAL_STACK",
    default: false,
    help: "Envoy's own ports listen on IPv4 and IPv6 where the workload has both.",
  }),
  statusProxyProtocol: toggle({
    env: "ENVOY_STATUS_PORT_ENABLE_PROXY_PROTOCOL",
    default: false,
    help: "The port for health checks accepts the PROXY protocol.",
  }),
  compliancePolicy: text({
    env: "COMPLIANCE_POLICY",
    default: "",
    help: "fips-140-2 or fips-140-3 limits TLS accordingly.",
  }),
  metadataDiscovery: text({
    env: "PEER_METADATA_DISCOVERY",
    default: "",
    help: "true or false: Envoy looks peers' metadata up by xDS. Empty: where ISTIO_META_ENABLE_HBONE is set and Envoy is Istio's build.",
  }),
} as const;

const names = {
  dnsCapture: toggle({
    env: "ISTIO_META_DNS_CAPTURE",
    default: false,
    help: "Answer the workload's DNS queries (sidecars).",
  }),
  dnsServer: toggle({
    env: "ISTIO_META_ENABLE_DNS_SERVER",
    default: false,
    help: "Answer DNS queries, whatever the kind of proxy.",
  }),
  dnsAddress: text({
    env: "DNS_PROXY_ADDR",
    default: "localhost:15053",
    help: "Address of the DNS server, UDP and TCP.",
  }),
  dnsForwardParallel: toggle({
    env: "DNS_FORWARD_PARALLEL",
    default: false,
    help: "Ask all upstream name servers at once.",
  }),
  dnsForwardTimeout: duration({
    env: "DNS_FORWARD_TIMEOUT",
    default: 5000,
    help: "How long to wait for an upstream name server.",
  }),
  resolvConf: text({
    env: "DNS_RESOLV_CONF",
    default: "/etc/resolv.conf",
    own: true,
    help: "File that names the upstream name servers and search domains.",
  }),
} as const;

const places = {
  directory: text({
    flag: "directory",
    env: "AGENT_DIRECTORY",
    default: ".",
    own: true,
    help: "Directory that every relative path is relative to, Envoy's too. Nothing is written outside it unless an absolute path says so.",
  }),
  prometheusScrape: text({
    env: "ISTIO_PROMETHEUS_ANNOTATIONS",
    default: "",
    help: "JSON that says where the application gives its metrics; they are merged into /stats/prometheus.",
  }),
  localMetricsOnly: toggle({
    env: "METRICS_LOCALHOST_ACCESS_ONLY",
    default: false,
    help: "Give metrics on the agent's status port to callers of this machine only.",
  }),
  appProbers: text({
    env: "ISTIO_KUBE_APP_PROBERS",
    default: "",
    help: "JSON of the application's probes, answered under /app-health/ and /app-lifecycle/.",
  }),
} as const;

/** Every setting of `proxy`, in groups, in the order in which a person reads them. */
export const optionTable = {
  Flags: flags,
  Workload: workload,
  Certificates: certificates,
  Envoy: envoy,
  "DNS server": names,
  Places: places,
} as const;

type Table = typeof optionTable;
type AnyGroup = Table[keyof Table];
type UnionToIntersection<U> = (U extends unknown ? (u: U) => void : never) extends (i: infer I) => void ? I : never;
type All = UnionToIntersection<AnyGroup>;

/** The values of all settings. */
export type Options = { readonly [K in keyof All]: All[K] extends Option<infer T> ? T : never };

/** Every setting by its property. */
export const allOptions = Object.assign({}, ...Object.values(optionTable)) as {
  readonly [K in keyof All]: Option<Options[K]>;
};
