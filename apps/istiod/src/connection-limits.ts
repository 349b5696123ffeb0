import type { ListenOptions } from "@istiod/xds-server";
import { duration, type FlagValues } from "./flags.js";
import { variables } from "./variables.js";

type LimitFlags = Pick<FlagValues, "keepaliveInterval" | "keepaliveTimeout" | "keepaliveMaxServerConnectionAge">;

/** Grace period after the maximum connection age, Istio's `MaxServerConnectionAgeGrace`. */
const graceMs = 10_000;
/** gRPC's values for an interval and a timeout of 0, and its minimum interval (google.golang.org/grpc/keepalive). */
const unsetIntervalMs = 7_200_000;
const unsetTimeoutMs = 20_000;
const minIntervalMs = 1000;

/**
 * Reads the limits of gRPC connections from Istio's flags (`keepalive…`, pkg/keepalive/options.go) and variables
 * ISTIO_GPRC_MAXRECVMSGSIZE and ISTIO_GPRC_MAXSTREAMS (pilot/pkg/features/tuning.go).
 *
 * @throws Error that names the flag or variable with an invalid value.
 */
export function connectionLimits(
  values: LimitFlags,
  env: NodeJS.ProcessEnv,
): Required<Pick<ListenOptions, "keepAlive" | "maxRequestBytes" | "maxStreams">> & Pick<ListenOptions, "maxAge"> {
  const read = (flag: keyof LimitFlags): number => duration(flag, values[flag]);
  const ms = read("keepaliveMaxServerConnectionAge");
  return {
    keepAlive: {
      intervalMs: Math.max(minIntervalMs, read("keepaliveInterval") || unsetIntervalMs),
      timeoutMs: read("keepaliveTimeout") || unsetTimeoutMs,
    },
    maxRequestBytes: variables.maxReceivedMessageSize.read(env),
    maxStreams: variables.maxStreams.read(env),
    ...(ms > 0 && { maxAge: { ms, graceMs } }),
  };
}
