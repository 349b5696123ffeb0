import { multiClusterGroup } from "@istiod/config-schema";
import type { Feature } from "@istiod/config-schema";
import { features } from "@istiod/push-context";
import { discoveryFeatures } from "@istiod/service-discovery";
import {
  booleanSetting,
  durationSetting,
  enumSetting,
  type Environment,
  integerSetting,
  listSetting,
  invalidSetting,
  numberSetting,
  readSettings,
  type Setting,
  type SettingTable,
  stringSetting,
  variablesOf,
} from "@istiod/settings";
import { defaultLimits } from "@istiod/xds-server";
import { flags } from "./flags.js";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

const identityVariables = {
  podName: stringSetting({ variable: "POD_NAME", default: "", help: "name of the istiod Pod; empty for the hostname" }),
  revision: stringSetting({ variable: "REVISION", default: "", help: "revision of this istiod; empty for default" }),
} as const;

const sourceVariables = {
  mcsApiGroup: stringSetting({
    variable: "MCS_API_GROUP",
    default: multiClusterGroup,
    help: "API group of ServiceExport and ServiceImport",
  }),
  mcsApiVersion: stringSetting({
    variable: "MCS_API_VERSION",
    default: "",
    help: "API version of ServiceExport and ServiceImport; empty for all known versions",
  }),
} as const;

const pushVariables = {
  debounceAfter: durationSetting({
    variable: "PILOT_DEBOUNCE_AFTER",
    default: 100,
    help: "quiet period after a change before it is pushed",
  }),
  debounceMax: durationSetting({
    variable: "PILOT_DEBOUNCE_MAX",
    default: 10_000,
    help: "maximum delay of a push while changes keep arriving",
  }),
  edsDebounce: booleanSetting({
    variable: "PILOT_ENABLE_EDS_DEBOUNCE",
    default: true,
    help: "debounce changes of endpoints as well",
  }),
  pushThrottle: integerSetting({
    variable: "PILOT_PUSH_THROTTLE",
    default: 0,
    help: "maximum number of concurrent pushes; 0 for 15 plus 5 per CPU, at most 100",
  }),
  maxRequestsPerSecond: numberSetting({
    variable: "PILOT_MAX_REQUESTS_PER_SECOND",
    default: 0,
    help: "maximum rate of new xDS streams; 0 for 15 plus 5 per CPU, at most 100",
  }),
  /** Istio writes findings to the status of objects and therefore disables this by default. */
  analysis: booleanSetting({
    variable: "PILOT_ENABLE_ANALYSIS",
    default: true,
    help: "analyze the configuration continuously",
  }),
} as const;

/** Maximum of gRPC's unsigned options. */
const maxUint32 = 0xffff_ffff;

const positive = { min: 1, max: Number.MAX_SAFE_INTEGER } as const;

const streamVariables = {
  maxTypes: integerSetting(
    {
      variable: "ISTIOD_XDS_MAX_TYPES",
      default: defaultLimits.authenticated.types,
      help: "maximum number of resource types of an xDS stream",
      isExtension: true,
    },
    positive,
  ),
  maxNames: integerSetting(
    {
      variable: "ISTIOD_XDS_MAX_NAMES",
      default: defaultLimits.authenticated.names,
      help: "maximum number of resource names that an xDS stream subscribes to",
      isExtension: true,
    },
    positive,
  ),
  maxUnmatchedBytes: integerSetting(
    {
      variable: "ISTIOD_XDS_MAX_UNMATCHED_BYTES",
      default: defaultLimits.authenticated.unmatchedBytes,
      help: "maximum size of the names of an authenticated xDS stream that are not among the proxy's resources, with what is served for them, in bytes",
      isExtension: true,
    },
    positive,
  ),
  maxUnauthenticatedUnmatchedBytes: integerSetting(
    {
      variable: "ISTIOD_XDS_MAX_UNAUTHENTICATED_UNMATCHED_BYTES",
      default: defaultLimits.unauthenticated.unmatchedBytes,
      help: "as ISTIOD_XDS_MAX_UNMATCHED_BYTES, for streams that are not authenticated",
      isExtension: true,
    },
    positive,
  ),
  totalUnmatchedBytes: integerSetting(
    {
      variable: "ISTIOD_XDS_TOTAL_UNMATCHED_BYTES",
      default: defaultLimits.authenticated.totalUnmatchedBytes,
      help: "maximum of ISTIOD_XDS_MAX_UNMATCHED_BYTES of all authenticated streams; streams of the identity that uses most are ended, the latest first",
      isExtension: true,
    },
    positive,
  ),
  totalUnauthenticatedUnmatchedBytes: integerSetting(
    {
      variable: "ISTIOD_XDS_TOTAL_UNAUTHENTICATED_UNMATCHED_BYTES",
      default: defaultLimits.unauthenticated.totalUnmatchedBytes,
      help: "as ISTIOD_XDS_TOTAL_UNMATCHED_BYTES, for streams that are not authenticated, by address",
      isExtension: true,
    },
    positive,
  ),
} as const;

/** Declares a timeout, which cannot be disabled: a client that never gets on would hold what it has for ever. */
function limitDuration(variable: string, milliseconds: number, help: string): Setting<number> {
  const setting = durationSetting({ variable, default: milliseconds, help, isExtension: true });
  return {
    ...setting,
    read(env, given) {
      const value = setting.read(env, given);
      if (value <= 0) throw invalidSetting(variable, env[variable] ?? "", "a duration of more than 0s");
      return value;
    },
  };
}

const connectionVariables = {
  maxReceivedMessageSize: integerSetting(
    {
      variable: "ISTIO_GPRC_MAXRECVMSGSIZE",
      default: 4 * 1024 * 1024,
      help: "maximum size of a received gRPC message in bytes",
    },
    { min: 1, max: maxUint32 },
  ),
  maxStreams: integerSetting(
    {
      variable: "ISTIO_GPRC_MAXSTREAMS",
      default: 100_000,
      help: "maximum number of concurrent streams of a gRPC connection",
    },
    { min: 1, max: maxUint32 },
  ),
  maxUnauthenticatedStreams: integerSetting(
    {
      variable: "ISTIOD_MAX_UNAUTHENTICATED_STREAMS",
      default: 100,
      help: "maximum number of concurrent streams of a gRPC connection whose client is not authenticated",
      isExtension: true,
    },
    { min: 1, max: maxUint32 },
  ),
  maxConnections: integerSetting(
    {
      variable: "ISTIOD_MAX_CONNECTIONS",
      default: 20_000,
      help: "maximum number of gRPC connections",
      isExtension: true,
    },
    { min: 1 },
  ),
  maxUnauthenticatedConnections: integerSetting(
    {
      variable: "ISTIOD_MAX_UNAUTHENTICATED_CONNECTIONS",
      default: 10_000,
      help: "maximum number of gRPC connections whose clients are not authenticated",
      isExtension: true,
    },
    { min: 1 },
  ),
  maxConnectionsPerAddress: integerSetting(
    {
      variable: "ISTIOD_MAX_CONNECTIONS_PER_ADDRESS",
      default: 5000,
      help: "maximum number of unauthenticated gRPC connections of one IPv4 address or IPv6 /64 network",
      isExtension: true,
    },
    { min: 1 },
  ),
  maxConnectionsPerIdentity: integerSetting(
    {
      variable: "ISTIOD_MAX_CONNECTIONS_PER_IDENTITY",
      default: 10_000,
      help: "maximum number of gRPC connections of one authenticated identity",
      isExtension: true,
    },
    { min: 1 },
  ),
  unfinishedRequestBytes: integerSetting(
    {
      variable: "ISTIOD_MAX_UNFINISHED_REQUEST_BYTES",
      default: 64 * 1024 * 1024,
      help: "bytes of all gRPC requests that have begun and are not complete; further ones wait",
      isExtension: true,
    },
    { min: 1 },
  ),
  handshakeTimeout: limitDuration(
    "ISTIOD_HANDSHAKE_TIMEOUT",
    10_000,
    "timeout of the TLS and HTTP/2 handshakes of a gRPC connection",
  ),
  firstRequestTimeout: limitDuration(
    "ISTIOD_FIRST_REQUEST_TIMEOUT",
    15_000,
    "timeout of the first stream of a gRPC connection, and of the first request of a stream",
  ),
  requestTimeout: limitDuration(
    "ISTIOD_REQUEST_TIMEOUT",
    60_000,
    "time in which a gRPC request must be complete once it has begun",
  ),
  connectionIdleTimeout: limitDuration(
    "ISTIOD_CONNECTION_IDLE_TIMEOUT",
    300_000,
    "time after which a gRPC connection without streams is closed",
  ),
  memoryThreshold: integerSetting(
    {
      variable: "ISTIOD_MEMORY_THRESHOLD",
      default: 85,
      help: "percentage of the memory limit, without garbage, above which the newest gRPC connections are closed; 0 to disable",
      isExtension: true,
    },
    { min: 0, max: 99 },
  ),
  compliancePolicy: enumSetting<"" | "fips-140-2" | "fips-140-3" | "pqc">(
    {
      variable: "COMPLIANCE_POLICY",
      default: "",
      help: "policy that limits the TLS versions, cipher suites and curves of istiod and the proxies: fips-140-2, fips-140-3 or pqc",
    },
    ["fips-140-2", "fips-140-3", "pqc"],
  ),
} as const;

const certificateVariables = {
  rootCaDirectory: stringSetting({
    variable: "ROOT_CA_DIR",
    default: "./etc/cacerts",
    help: "directory of a plugged-in CA certificate and key",
  }),
  customHosts: listSetting({
    variable: "ISTIOD_CUSTOM_HOST",
    default: [],
    help: "additional host names of istiod's serving certificate",
  }),
  caServer: booleanSetting({
    variable: "ENABLE_CA_SERVER",
    default: true,
    help: "serve certificate signing requests",
  }),
  workloadCertificateLifetime: durationSetting({
    variable: "DEFAULT_WORKLOAD_CERT_TTL",
    default: dayMs,
    help: "default lifetime of workload certificates",
  }),
  maxWorkloadCertificateLifetime: durationSetting({
    variable: "MAX_WORKLOAD_CERT_TTL",
    default: 90 * dayMs,
    help: "maximum lifetime of workload certificates",
  }),
  rootLifetime: durationSetting({
    variable: "CITADEL_SELF_SIGNED_CA_CERT_TTL",
    default: 3650 * dayMs,
    help: "lifetime of the self-signed root certificate",
  }),
  rootKeyBits: integerSetting(
    {
      variable: "CITADEL_SELF_SIGNED_CA_RSA_KEY_SIZE",
      default: 2048,
      help: "size of the self-signed root's RSA key in bits",
    },
    { min: 2048, max: 8192 },
  ),
  rootCheckInterval: durationSetting({
    variable: "CITADEL_SELF_SIGNED_ROOT_CERT_CHECK_INTERVAL",
    default: hourMs,
    help: "interval of the check whether the self-signed root must be rotated; 0s to disable rotation",
  }),
  rootGracePercentile: integerSetting(
    {
      variable: "CITADEL_SELF_SIGNED_ROOT_CERT_GRACE_PERIOD_PERCENTILE",
      default: 20,
      help: "grace period before the expiry of the self-signed root in which it is rotated, in percent of its lifetime",
    },
    { min: 1, max: 99 },
  ),
} as const;

const debugVariables = {
  debugOnHttp: booleanSetting({
    variable: "ENABLE_DEBUG_ON_HTTP",
    default: true,
    help: "serve debug endpoints on --httpAddr",
  }),
  debugAuthentication: booleanSetting({
    variable: "ENABLE_DEBUG_ENDPOINT_AUTH",
    default: true,
    help: "authenticate callers of debug endpoints",
  }),
  debugNamespaces: listSetting({
    variable: "DEBUG_ENDPOINT_AUTH_ALLOWED_NAMESPACES",
    default: [],
    help: "namespaces, in addition to the root namespace, whose workloads may call all debug endpoints",
  }),
  adminEndpoints: booleanSetting({
    variable: "UNSAFE_ENABLE_ADMIN_ENDPOINTS",
    default: false,
    help: "serve debug endpoints that change the state of istiod",
  }),
  profiling: booleanSetting({
    variable: "ENABLE_PROFILING",
    default: true,
    help: "serve profiles at /debug/pprof/, like --profile",
  }),
  localMetricsOnly: booleanSetting({
    variable: "METRICS_LOCALHOST_ACCESS_ONLY",
    default: false,
    help: "serve metrics to callers on this machine only",
  }),
} as const;

/** The environment variables of istiod itself, by the groups of the reference. */
export const variableGroups = {
  Identity: identityVariables,
  Sources: sourceVariables,
  Pushes: pushVariables,
  "xDS streams": streamVariables,
  Connections: connectionVariables,
  "Certificate authority": certificateVariables,
  "Debugging and metrics": debugVariables,
} as const;

/**
 * The environment variables of istiod itself that have no flag. Those that shape the proxies' configuration are
 * features of push-context and settings of service-discovery.
 */
export const variables = {
  ...identityVariables,
  ...sourceVariables,
  ...pushVariables,
  ...streamVariables,
  ...connectionVariables,
  ...certificateVariables,
  ...debugVariables,
} as const;

/**
 * The features of service discovery and of the proxies' configuration. Those that flags set, or that other variables
 * have in common, are in one group only.
 */
export const featureGroups: Readonly<Record<string, SettingTable>> = {
  "Service discovery": settingsOf(discoveryFeatures),
  "Proxy configuration": settingsOf(features, discoveryFeatures),
};

/** Names of all variables that istiod reads. */
export const readVariables: ReadonlySet<string> = new Set([
  ...variablesOf(flags),
  ...variablesOf(variables),
  ...Object.values(featureGroups).flatMap(variablesOf),
]);

/** Reads every variable once, so that an invalid one fails the startup. @throws SettingError */
export function checkVariables(env: Environment): void {
  for (const table of [variables, ...Object.values(featureGroups)]) readSettings(table, env);
}

/** Returns the settings of features, without those whose variable another table has. */
function settingsOf(table: FeatureTable, excluded: FeatureTable = {}): SettingTable {
  const declared = new Set([
    ...Object.values(excluded).map(({ variable }) => variable),
    ...variablesOf(flags),
    ...variablesOf(variables),
  ]);
  return Object.fromEntries(
    Object.entries(table)
      .filter(([, { variable }]) => !declared.has(variable))
      .map(([name, { setting }]) => [name, setting]),
  );
}

type FeatureTable = Readonly<Record<string, Feature<unknown>>>;
