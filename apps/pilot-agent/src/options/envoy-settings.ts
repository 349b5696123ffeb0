import {
  booleanSetting,
  compliancePolicies,
  type CompliancePolicy,
  durationSetting,
  enumSetting,
  integerSetting,
  stringSetting,
} from "@istiod/settings";

const portRange = { min: 0, max: 65535 };

/** Settings of Envoy and its bootstrap. */
export const envoySettings = {
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
  grpcBootstrap: stringSetting({
    variable: "GRPC_XDS_BOOTSTRAP",
    default: "./etc/istio/proxy/grpc-bootstrap.json",
    help: "file to which the bootstrap of gRPC applications without a proxy is written",
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
  xdsMaxMessageBytes: integerSetting(
    {
      variable: "XDS_MAX_MESSAGE_BYTES",
      default: 256 * 1024 * 1024,
      help: "maximum size of a discovery message between Envoy and istiod",
      isExtension: true,
    },
    { min: 1024 * 1024 },
  ),
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
  compliancePolicy: enumSetting<"" | CompliancePolicy>(
    {
      variable: "COMPLIANCE_POLICY",
      default: "",
      help: "policy that limits the TLS versions, cipher suites and curves of Envoy's gRPC clients and of the agent's connections to istiod: fips-140-2, fips-140-3 or pqc",
    },
    compliancePolicies,
  ),
  metadataDiscovery: stringSetting({
    variable: "PEER_METADATA_DISCOVERY",
    default: "",
    help: "discover peer metadata by xDS: true or false; empty to enable it if ISTIO_META_ENABLE_HBONE is set and Envoy is Istio's build",
  }),
} as const;
