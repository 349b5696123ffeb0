import {
  ConnectionPoolSettings_HTTPSettings_H2UpgradePolicy as H2UpgradePolicy,
  type ConnectionPoolSettings,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { checkDuration, checkOptionalDuration, formatDuration, nanoseconds } from "../durations.js";
import { checkNotNegative } from "../numbers.js";
import type { Place } from "../place.js";

export function checkConnectionPool(settings: ConnectionPoolSettings | undefined, place: Place): void {
  if (settings === undefined) return;
  const { http, tcp } = settings;
  if (http === undefined && tcp === undefined) place.error("is empty, expected http or tcp");
  if (http !== undefined) {
    const at = place.at("http");
    for (const field of [
      "http1MaxPendingRequests",
      "http2MaxRequests",
      "maxRequestsPerConnection",
      "maxRetries",
      "maxConcurrentStreams",
    ] as const) {
      checkNotNegative(http[field], at.at(field));
    }
    checkOptionalDuration(http.idleTimeout, at.at("idleTimeout"));
    if (http.h2UpgradePolicy === H2UpgradePolicy.UPGRADE && http.useClientProtocol)
      at.at("useClientProtocol").error("is true together with h2UpgradePolicy UPGRADE, expected only one of them");
    if (http.http2KeepAlive !== undefined) {
      checkDuration(http.http2KeepAlive.interval, at.at("http2KeepAlive", "interval"));
      checkDuration(http.http2KeepAlive.timeout, at.at("http2KeepAlive", "timeout"));
    }
  }
  if (tcp !== undefined) {
    const at = place.at("tcp");
    checkNotNegative(tcp.maxConnections, at.at("maxConnections"));
    checkOptionalDuration(tcp.connectTimeout, at.at("connectTimeout"));
    checkOptionalDuration(tcp.maxConnectionDuration, at.at("maxConnectionDuration"));
    if (nanoseconds(tcp.idleTimeout) / 1_000_000n !== 0n) checkDuration(tcp.idleTimeout, at.at("idleTimeout"));
    if (
      tcp.maxConnectionDuration !== undefined &&
      nanoseconds(tcp.maxConnectionDuration) > 0n &&
      nanoseconds(tcp.idleTimeout) > nanoseconds(tcp.maxConnectionDuration)
    )
      at.at("idleTimeout").warning(
        `is ${formatDuration(tcp.idleTimeout)}, which has no effect: maxConnectionDuration ends connections after ${formatDuration(tcp.maxConnectionDuration)}`,
        "no-effect",
      );
    checkOptionalDuration(tcp.tcpKeepalive?.time, at.at("tcpKeepalive", "time"));
    checkOptionalDuration(tcp.tcpKeepalive?.interval, at.at("tcpKeepalive", "interval"));
  }
}
