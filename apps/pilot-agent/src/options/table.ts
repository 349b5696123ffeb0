import { booleanSetting, durationSetting, integerSetting, type SettingValues, stringSetting } from "@istiod/settings";
import { certificateSettings } from "./certificate-settings.js";
import { envoySettings } from "./envoy-settings.js";
import { moduleSettings } from "./module-settings.js";
import { platformSettings } from "./platform-settings.js";
import { ignoredLoggingFlags, loggingFlags } from "./logging-flags.js";

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
  ...loggingFlags,
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
  dnsMaxForwards: integerSetting(
    {
      variable: "DNS_MAX_FORWARDED_QUERIES",
      default: 2048,
      help: "maximum number of queries that wait for upstream name servers, half of them of one client; further ones get SERVFAIL",
      isExtension: true,
    },
    { min: 1 },
  ),
  dnsMaxConnections: integerSetting(
    {
      variable: "DNS_MAX_CONNECTIONS",
      default: 256,
      help: "maximum number of TCP connections to the DNS server, half of them of one client",
      isExtension: true,
    },
    { min: 1 },
  ),
  dnsRemoteClients: booleanSetting({
    variable: "DNS_REMOTE_CLIENTS",
    default: false,
    help: "resolve queries of other machines, if DNS_PROXY_ADDR is not a loopback address",
    isExtension: true,
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
  http2Probing: booleanSetting({
    variable: "ISTIO_ENABLE_HTTP2_PROBING",
    default: true,
    help: "offer HTTP/2 in the application's probes over HTTPS, as the kubelet does",
  }),
} as const;

/** Flags of Istio's agent that are accepted for compatibility. */
const ignoredFlags = {
  stsPort: stringSetting({
    flag: "stsPort",
    placeholder: "port",
    default: "",
    help: "port of the token exchange",
    ignored: "the agent exchanges no tokens",
  }),
  tokenManagerPlugin: stringSetting({
    flag: "tokenManagerPlugin",
    default: "",
    help: "plugin of the token exchange",
    ignored: "the agent exchanges no tokens",
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
  ...ignoredLoggingFlags,
} as const;

/** The settings of `pilot-agent proxy`, by the groups of the reference. */
export const optionTable = {
  Flags: flags,
  Workload: workload,
  Certificates: certificateSettings,
  "Wasm modules": moduleSettings,
  Cloud: platformSettings,
  Envoy: envoySettings,
  "DNS server": names,
  "Paths and probes": places,
  "Ignored flags": ignoredFlags,
} as const;

/** The settings of `pilot-agent proxy` that have an effect, by property. */
export const allOptions = {
  ...flags,
  ...workload,
  ...certificateSettings,
  ...moduleSettings,
  ...platformSettings,
  ...envoySettings,
  ...names,
  ...places,
} as const;

/** The values of the settings. Durations are milliseconds. */
export type Options = SettingValues<typeof allOptions>;
