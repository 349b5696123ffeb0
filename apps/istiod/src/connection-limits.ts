import type { ListenOptions } from "@istiod/xds-server";
import { duration, type FlagValues } from "./flags.js";
import { variables } from "./variables.js";

type LimitFlags = Pick<FlagValues, "keepaliveInterval" | "keepaliveTimeout" | "keepaliveMaxServerConnectionAge">;

/** What is left to those who are in the middle of something when a connection is of its age: as Istio's `MaxServerConnectionAgeGrace`. */
const graceMs = 10_000;
/** As gRPC takes an interval and a timeout of 0, and one below its least (google.golang.org/grpc/keepalive). */
const unsetIntervalMs = 7_200_000;
const unsetTimeoutMs = 20_000;
const leastIntervalMs = 1000;

/**
 * What a connection of gRPC may do and for how long, as Istio's flags (`keepalive…`, pkg/keepalive/options.go) and its variables ISTIO_GPRC_MAXRECVMSGSIZE and
 * ISTIO_GPRC_MAXSTREAMS (pilot/pkg/features/tuning.go) say it.
 *
 * @throws Error that names the flag or variable whose value cannot be used.
 */
export function connectionLimits(values: LimitFlags, env: NodeJS.ProcessEnv): Required<Pick<ListenOptions, "keepAlive" | "maxRequestBytes" | "maxStreams">> & Pick<ListenOptions, "maxAge"> {
  const read = (flag: keyof LimitFlags): number => duration(flag, values[flag]);
  const ms = read("keepaliveMaxServerConnectionAge");
  return {
    keepAlive: { intervalMs: Math.max(leastIntervalMs, read("keepaliveInterval") || unsetIntervalMs), timeoutMs: read("keepaliveTimeout") || unsetTimeoutMs },
    maxRequestBytes: variables.maxReceivedMessageSize.read(env),
    maxStreams: variables.maxStreams.read(env),
    ...(ms > 0 && { maxAge: { ms, graceMs } }),
  };
}
