import { maxOpenFiles } from "@istiod/runtime";
import { fitConnections, type ListenOptions, type XdsServerOptions } from "@istiod/xds-server";
import type { FlagValues } from "./flags.js";
import { variables } from "./variables.js";

type LimitFlags = Pick<
  FlagValues,
  "keepaliveInterval" | "keepaliveTimeout" | "keepaliveMaxServerConnectionAge" | "xdsCompression"
>;

/** Grace period after the maximum connection age, Istio's `MaxServerConnectionAgeGrace`. */
const graceMs = 10_000;
/** gRPC's values for an interval and a timeout of 0, and its minimum interval (google.golang.org/grpc/keepalive). */
const unsetIntervalMs = 7_200_000;
const unsetTimeoutMs = 20_000;
const minIntervalMs = 1000;

/** The limits that Istio has, the timeouts and limits of the connections of one listener, and compression. */
type Limits = Required<
  Pick<
    ListenOptions,
    | "compression"
    | "keepAlive"
    | "maxRequestBytes"
    | "maxStreams"
    | "maxUnauthenticatedStreams"
    | "handshakeTimeoutMs"
    | "firstRequestTimeoutMs"
    | "idleTimeoutMs"
  >
> &
  Pick<ListenOptions, "maxAge">;

/**
 * Returns the limits of gRPC connections from Istio's flags (`keepalive…`, pkg/keepalive/options.go) and variables
 * ISTIO_GPRC_MAXRECVMSGSIZE and ISTIO_GPRC_MAXSTREAMS (pilot/pkg/features/tuning.go), and from istiod's own variables.
 *
 * @throws SettingError naming an invalid variable
 */
export function connectionLimits(values: LimitFlags, env: NodeJS.ProcessEnv): Limits {
  const { keepaliveInterval, keepaliveTimeout, keepaliveMaxServerConnectionAge: ms } = values;
  return {
    compression: values.xdsCompression,
    keepAlive: {
      intervalMs: Math.max(minIntervalMs, keepaliveInterval || unsetIntervalMs),
      timeoutMs: keepaliveTimeout || unsetTimeoutMs,
    },
    maxRequestBytes: variables.maxReceivedMessageSize.read(env),
    maxStreams: variables.maxStreams.read(env),
    maxUnauthenticatedStreams: variables.maxUnauthenticatedStreams.read(env),
    handshakeTimeoutMs: variables.handshakeTimeout.read(env),
    firstRequestTimeoutMs: variables.firstRequestTimeout.read(env),
    idleTimeoutMs: variables.connectionIdleTimeout.read(env),
    ...(ms > 0 && { maxAge: { ms, graceMs } }),
  };
}

/**
 * Returns the limits that all gRPC listeners share.
 *
 * @throws SettingError naming an invalid variable
 */
export function sharedLimits(
  env: NodeJS.ProcessEnv,
): Pick<XdsServerOptions, "connectionLimits" | "unfinishedRequestBytes" | "requestTimeoutMs" | "memoryThreshold"> {
  const threshold = variables.memoryThreshold.read(env);
  return {
    connectionLimits: wantedConnections(env),
    unfinishedRequestBytes: variables.unfinishedRequestBytes.read(env),
    requestTimeoutMs: variables.requestTimeout.read(env),
    ...(threshold > 0 && { memoryThreshold: threshold / 100 }),
  };
}

function wantedConnections(env: NodeJS.ProcessEnv) {
  return {
    total: variables.maxConnections.read(env),
    unauthenticated: variables.maxUnauthenticatedConnections.read(env),
    perAddress: variables.maxConnectionsPerAddress.read(env),
    perIdentity: variables.maxConnectionsPerIdentity.read(env),
  };
}

/** Number of connections below which the lowered default is worth a warning: a small mesh has as many. */
const fewConnections = 2000;

/**
 * Returns a warning if the process may open too few files for the limit of connections that is set, or, with the
 * default, for a small mesh. The limits are lower then.
 */
export function openFilesWarning(env: NodeJS.ProcessEnv, files = maxOpenFiles()): string | undefined {
  const wanted = wantedConnections(env);
  const { total, unauthenticated } = fitConnections(wanted, files);
  const isSet = wanted.total !== variables.maxConnections.default;
  if (total === wanted.total || (!isSet && total >= fewConnections)) return undefined;
  return (
    `the limits of connections are lowered from ${wanted.total} to ${total}, of which ${unauthenticated} may be ` +
    `unauthenticated, because the process may open ${files ?? 0} files only; raise its limit (ulimit -n)`
  );
}
