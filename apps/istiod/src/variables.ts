import { multiClusterGroup } from "@istiod/config-schema";
import {
  parseGoDuration,
  booleanVariable,
  type Environment,
  integerVariable,
  listVariable,
  textVariable,
  type Variable,
  variable,
} from "@istiod/settings";
import { featureVariables } from "@istiod/push-context";
import { discoverySettingVariables } from "@istiod/service-discovery";

const hourMs = 3_600_000;

/** A duration in any of Go's forms, in milliseconds. */
function durationVariable(name: string, byDefaultMs: number): Variable<number> {
  const parse = (text: string): number | undefined => {
    const nanoseconds = parseGoDuration(text);
    return nanoseconds === undefined ? undefined : Math.max(0, Number(nanoseconds) / 1e6);
  };
  return variable(name, byDefaultMs, parse, "a duration such as 100ms or 10s");
}

/** A number of which 0 or less is the default. */
function tuningVariable(name: string, kind: "a number" | "a whole number"): Variable<number> {
  const parse = (text: string): number | undefined => {
    const value = Number(text);
    return Number.isFinite(value) && (kind === "a number" || Number.isInteger(value)) ? Math.max(0, value) : undefined;
  };
  return variable(name, 0, parse, `${kind}; 0 is the default`);
}

/** A count of bytes or streams, as gRPC's options hold it. */
function countVariable(name: string, byDefault: number): Variable<number> {
  const parse = (text: string): number | undefined => {
    const value = Number(text);
    return Number.isInteger(value) && value >= 1 && value <= 0xffff_ffff ? value : undefined;
  };
  return variable(name, byDefault, parse, "a whole number above 0");
}

/**
 * The environment variables of istiod itself, each declared here only. Those that shape what proxies receive are
 * features of push-context and settings of service-discovery.
 */
export const variables = {
  // Where this istiod is
  clusterId: textVariable("CLUSTER_ID", "Kubernetes"),
  namespace: textVariable("POD_NAMESPACE", "istio-system"),
  podName: textVariable("POD_NAME"),
  revision: textVariable("REVISION"),

  // Sources
  mcsApiGroup: textVariable("MCS_API_GROUP", multiClusterGroup),
  mcsApiVersion: textVariable("MCS_API_VERSION"),

  // The push path
  debounceAfter: durationVariable("PILOT_DEBOUNCE_AFTER", 100),
  debounceMax: durationVariable("PILOT_DEBOUNCE_MAX", 10_000),
  edsDebounce: booleanVariable("PILOT_ENABLE_EDS_DEBOUNCE", true),
  pushThrottle: tuningVariable("PILOT_PUSH_THROTTLE", "a whole number"),
  maxRequestsPerSecond: tuningVariable("PILOT_MAX_REQUESTS_PER_SECOND", "a number"),

  /**
   * Istio writes its findings into the status of objects, and therefore analyzes only on demand; here it is the
   * default.
   */
  analysis: booleanVariable("PILOT_ENABLE_ANALYSIS", true),

  // Connections
  keepaliveInterval: textVariable("GRPC_KEEPALIVE_INTERVAL", "30s"),
  keepaliveTimeout: textVariable("GRPC_KEEPALIVE_TIMEOUT", "10s"),
  maxReceivedMessageSize: countVariable("ISTIO_GPRC_MAXRECVMSGSIZE", 4 * 1024 * 1024),
  maxStreams: countVariable("ISTIO_GPRC_MAXSTREAMS", 100_000),
  compliancePolicy: textVariable("COMPLIANCE_POLICY"),

  // Certificates
  rootCaDirectory: textVariable("ROOT_CA_DIR", "./etc/cacerts"),
  customHosts: listVariable("ISTIOD_CUSTOM_HOST"),
  caServer: booleanVariable("ENABLE_CA_SERVER", true),
  workloadCertificateLifetime: durationVariable("DEFAULT_WORKLOAD_CERT_TTL", 24 * hourMs),
  maxWorkloadCertificateLifetime: durationVariable("MAX_WORKLOAD_CERT_TTL", 90 * 24 * hourMs),
  rootLifetime: durationVariable("CITADEL_SELF_SIGNED_CA_CERT_TTL", 3650 * 24 * hourMs),
  rootKeyBits: integerVariable("CITADEL_SELF_SIGNED_CA_RSA_KEY_SIZE", 2048, { least: 2048, most: 8192 }),
  rootCheckInterval: durationVariable("CITADEL_SELF_SIGNED_ROOT_CERT_CHECK_INTERVAL", hourMs),
  rootGracePercentile: integerVariable("CITADEL_SELF_SIGNED_ROOT_CERT_GRACE_PERIOD_PERCENTILE", 20, {
    least: 1,
    most: 99,
  }),

  // Debugging and metrics
  debugOnHttp: booleanVariable("ENABLE_DEBUG_ON_HTTP", true),
  debugAuthentication: booleanVariable("ENABLE_DEBUG_ENDPOINT_AUTH", true),
  debugNamespaces: listVariable("DEBUG_ENDPOINT_AUTH_ALLOWED_NAMESPACES"),
  adminEndpoints: booleanVariable("UNSAFE_ENABLE_ADMIN_ENDPOINTS", false),
  profiling: booleanVariable("ENABLE_PROFILING", true),
  localMetricsOnly: booleanVariable("METRICS_LOCALHOST_ACCESS_ONLY", false),
} as const;

/** Names of all variables that istiod reads, as they are declared. */
export const readVariables: ReadonlySet<string> = new Set([
  ...Object.values(variables).map(({ name }) => name),
  ...featureVariables,
  ...discoverySettingVariables,
]);

/** Reads every variable once, so that one that cannot be used ends istiod at startup. @throws SettingError */
export function checkVariables(env: Environment): void {
  for (const each of Object.values(variables)) each.read(env);
}
