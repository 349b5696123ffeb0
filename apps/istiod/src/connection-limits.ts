import type { ListenOptions } from "@istiod/xds-server";
import type { FlagValues } from "./flags.js";
import { variables } from "./variables.js";

type LimitFlags = Pick<FlagValues, "keepaliveInterval" | "keepaliveTimeout" | "keepaliveMaxServerConnectionAge">;

/** Grace period after the maximum connection age, Istio's `MaxServerConnectionAgeGrace`. */
const graceMs = 10_000;
/** gRPC's values for an interval and a timeout of 0, and its minimum interval (google.golang.org/grpc/keepalive). */
const unsetIntervalMs = 7_200_000;
const unsetTimeoutMs = 20_000;
const minIntervalMs = 1000;

/**
 * Returns the limits of gRPC connections from Istio's flags (`keepalive…`, pkg/keepalive/options.go) and variables
 * ISTIO_GPRC_MAXRECVMSGSIZE and ISTIO_GPRC_MAXSTREAMS (pilot/pkg/features/tuning.go).
 *
 * @throws SettingError naming an invalid variable
 */
export function connectionLimits(
  values: LimitFlags,
  env: NodeJS.ProcessEnv,
): Required<Pick<ListenOptions, "keepAlive" | "maxRequestBytes" | "maxStreams">> & Pick<ListenOptions, "maxAge"> {
  const { keepaliveInterval, keepaliveTimeout, keepaliveMaxServerConnectionAge: ms } = values;
  return {
    keepAlive: {
      intervalMs: Math.max(minIntervalMs, keepaliveInterval || unsetIntervalMs),
      timeoutMs: keepaliveTimeout || unsetTimeoutMs,
    },
    maxRequestBytes: variables.maxReceivedMessageSize.read(env),
    maxStreams: variables.maxStreams.read(env),
    ...(ms > 0 && { maxAge: { ms, graceMs } }),
  };
}
