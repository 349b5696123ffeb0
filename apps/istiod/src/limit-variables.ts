import { durationSetting, enumSetting, integerSetting, invalidSetting, type Setting } from "@istiod/settings";
import { defaultLimits } from "@istiod/xds-server";

/** Maximum of gRPC's unsigned options. */
const maxUint32 = 0xffff_ffff;

const positive = { min: 1, max: Number.MAX_SAFE_INTEGER } as const;

/** Limits on the content of xDS streams. */
export const streamVariables = {
  maxTypes: integerSetting(
    {
      variable: "ISTIOD_XDS_MAX_TYPES",
      default: defaultLimits.authenticated.types,
      help: "maximum number of resource types per xDS stream",
      isExtension: true,
    },
    positive,
  ),
  maxNames: integerSetting(
    {
      variable: "ISTIOD_XDS_MAX_NAMES",
      default: defaultLimits.authenticated.names,
      help: "maximum number of subscribed resource names per xDS stream",
      isExtension: true,
    },
    positive,
  ),
  maxUnmatchedBytes: integerSetting(
    {
      variable: "ISTIOD_XDS_MAX_UNMATCHED_BYTES",
      default: defaultLimits.authenticated.unmatchedBytes,
      help: "maximum size in bytes of the subscribed names that match no resource of the proxy, and of the responses to them, per authenticated xDS stream",
      isExtension: true,
    },
    positive,
  ),
  maxUnauthenticatedUnmatchedBytes: integerSetting(
    {
      variable: "ISTIOD_XDS_MAX_UNAUTHENTICATED_UNMATCHED_BYTES",
      default: defaultLimits.unauthenticated.unmatchedBytes,
      help: "same as ISTIOD_XDS_MAX_UNMATCHED_BYTES, for unauthenticated xDS streams",
      isExtension: true,
    },
    positive,
  ),
  totalUnmatchedBytes: integerSetting(
    {
      variable: "ISTIOD_XDS_TOTAL_UNMATCHED_BYTES",
      default: defaultLimits.authenticated.totalUnmatchedBytes,
      help: "maximum total size in bytes of subscribed names that match no resource, and of the responses to them, over all authenticated xDS streams; above it, the newest streams of the identity that uses the most are closed",
      isExtension: true,
    },
    positive,
  ),
  totalUnauthenticatedUnmatchedBytes: integerSetting(
    {
      variable: "ISTIOD_XDS_TOTAL_UNAUTHENTICATED_UNMATCHED_BYTES",
      default: defaultLimits.unauthenticated.totalUnmatchedBytes,
      help: "same as ISTIOD_XDS_TOTAL_UNMATCHED_BYTES, for unauthenticated xDS streams, accounted by address instead of identity",
      isExtension: true,
    },
    positive,
  ),
} as const;

/** Declares a timeout that cannot be disabled, because a stalled client would hold its resources forever. */
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

/** Limits on gRPC connections, streams and requests. */
export const connectionVariables = {
  maxReceivedMessageSize: integerSetting(
    {
      variable: "ISTIO_GPRC_MAXRECVMSGSIZE",
      default: 4 * 1024 * 1024,
      help: "maximum size of a received gRPC message, in bytes",
    },
    { min: 1, max: maxUint32 },
  ),
  maxStreams: integerSetting(
    {
      variable: "ISTIO_GPRC_MAXSTREAMS",
      default: 100_000,
      help: "maximum number of concurrent streams per gRPC connection",
    },
    { min: 1, max: maxUint32 },
  ),
  maxUnauthenticatedStreams: integerSetting(
    {
      variable: "ISTIOD_MAX_UNAUTHENTICATED_STREAMS",
      default: 100,
      help: "maximum number of concurrent streams per unauthenticated gRPC connection",
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
      help: "maximum number of unauthenticated gRPC connections",
      isExtension: true,
    },
    { min: 1 },
  ),
  maxConnectionsPerAddress: integerSetting(
    {
      variable: "ISTIOD_MAX_CONNECTIONS_PER_ADDRESS",
      default: 5000,
      help: "maximum number of unauthenticated gRPC connections per IPv4 address or IPv6 /64 network",
      isExtension: true,
    },
    { min: 1 },
  ),
  maxConnectionsPerIdentity: integerSetting(
    {
      variable: "ISTIOD_MAX_CONNECTIONS_PER_IDENTITY",
      default: 10_000,
      help: "maximum number of gRPC connections per authenticated identity",
      isExtension: true,
    },
    { min: 1 },
  ),
  unfinishedRequestBytes: integerSetting(
    {
      variable: "ISTIOD_MAX_UNFINISHED_REQUEST_BYTES",
      default: 64 * 1024 * 1024,
      help: "maximum total size of incomplete gRPC requests, in bytes; further requests wait",
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
    "timeout for receiving the remainder of a gRPC request after its start",
  ),
  connectionIdleTimeout: limitDuration(
    "ISTIOD_CONNECTION_IDLE_TIMEOUT",
    300_000,
    "idle timeout of gRPC connections without streams",
  ),
  memoryThreshold: integerSetting(
    {
      variable: "ISTIOD_MEMORY_THRESHOLD",
      default: 85,
      help: "percentage of the memory limit in use, excluding garbage, above which the newest gRPC connections are closed; 0 to disable",
      isExtension: true,
    },
    { min: 0, max: 99 },
  ),
  compliancePolicy: enumSetting<"" | "fips-140-2" | "fips-140-3" | "pqc">(
    {
      variable: "COMPLIANCE_POLICY",
      default: "",
      help: "policy that restricts TLS versions, cipher suites and curves of istiod and the proxies: fips-140-2, fips-140-3 or pqc",
    },
    ["fips-140-2", "fips-140-3", "pqc"],
  ),
} as const;
