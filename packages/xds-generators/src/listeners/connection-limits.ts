import { create } from "@bufbuild/protobuf";
import type { Duration } from "@bufbuild/protobuf/wkt";
import { parseGoDuration } from "@istiod/settings";
import {
  type Listener,
  Listener_ConnectionBalanceConfigSchema,
} from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import type { QueryContext } from "@istiod/incremental";
import { askMetadata, features } from "@istiod/push-context";
import { duration, durationOfNanoseconds } from "../envoy/duration.js";

/** Balances connections exactly between workers, whatever the kernel does. */
export const exactBalance: NonNullable<Listener["connectionBalanceConfig"]> = create(
  Listener_ConnectionBalanceConfigSchema,
  {
    balanceType: { case: "exactBalance", value: {} },
  },
);

/** Returns how many connections a listener accepts per socket event; undefined: Envoy's default. */
export function maxConnectionsPerSocketEvent(q: QueryContext): number | undefined {
  const limit = features.maxConnectionsPerSocketEvent(q);
  return limit > 0 ? limit : undefined;
}

/** Returns the timeout of TLS handshakes; undefined: none. */
export function handshakeTimeout(q: QueryContext): Duration | undefined {
  const limit = features.gatewayTransportSocketConnectTimeout(q);
  return limit === 0 ? undefined : duration(limit);
}

/**
 * The node's `IDLE_TIMEOUT`, after which unused connections are closed; undefined if it is not set or not a duration.
 */
export function nodeIdleTimeout(q: QueryContext): Duration | undefined {
  const nanoseconds = parseGoDuration(askMetadata(q, "IDLE_TIMEOUT") ?? "");
  return nanoseconds === undefined ? undefined : durationOfNanoseconds(nanoseconds);
}
