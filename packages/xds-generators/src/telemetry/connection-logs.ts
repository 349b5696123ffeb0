import { clone } from "@bufbuild/protobuf";
import {
  type AccessLog,
  type AccessLogFilter,
  AccessLogSchema,
} from "@istiod/envoy-api/envoy/config/accesslog/v3/accesslog";
import { AccessLogType } from "@istiod/envoy-api/envoy/data/accesslog/v3/accesslog";
import type { QueryContext } from "@istiod/incremental";
import type { ListenerClass } from "@istiod/push-context";
import type { PeerIdentitySource } from "../security/authorization/principal.js";
import { accessLogs } from "./access-log.js";
import { andFilter, logTypeFilter } from "./access-log-filters.js";
import { countsOpenConnections, tcpMetricsLogs } from "./standard-metrics.js";

/** The access logs of a TCP proxy, and when it writes them. */
interface ConnectionLogs {
  readonly accessLog: AccessLog[];
  readonly accessLogOptions?: { readonly flushAccessLogOnConnected: true };
}

/**
 * Returns the access logs of TCP connections, and those that record metrics. The latter need to know that a connection
 * has been opened; the others are written at its end only.
 *
 * @param identity the source of the peer's identity in metrics
 */
export function connectionLogs(
  q: QueryContext,
  listener: ListenerClass,
  identity: PeerIdentitySource = "certificate",
): ConnectionLogs {
  const logs = accessLogs(q, listener, "tcp");
  const metrics = q.call(tcpMetricsLogs, { listener, identity });
  if (metrics.length === 0 || !countsOpenConnections(listener)) return { accessLog: [...logs, ...metrics] };
  return {
    accessLog: [...logs.map(atEnd), ...metrics],
    accessLogOptions: { flushAccessLogOnConnected: true },
  };
}

const isEnd = logTypeFilter(AccessLogType.TcpConnectionEnd);

function atEnd(log: AccessLog): AccessLog {
  const filters: AccessLogFilter[] = log.filter === undefined ? [isEnd] : [isEnd, log.filter];
  const filter = andFilter(filters);
  return filter === undefined ? log : Object.assign(clone(AccessLogSchema, log), { filter });
}
