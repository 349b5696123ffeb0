import { create } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import {
  type AccessLog,
  type AccessLogFilter,
  AccessLogSchema,
} from "@istiod/envoy-api/envoy/config/accesslog/v3/accesslog";
import {
  HttpGrpcAccessLogConfigSchema,
  TcpGrpcAccessLogConfigSchema,
} from "@istiod/envoy-api/envoy/extensions/access_loggers/grpc/v3/als";
import { query, type QueryContext } from "@istiod/incremental";
import { accessLogTargets, type ListenerClass, mesh } from "@istiod/push-context";
import { packAny } from "../envoy/any.js";
import { type AccessLogKind, andFilter, celFilter, defaultFilters } from "./access-log-filters.js";
import { fileAccessLog, meshFormat } from "./access-log-format.js";
import {
  allPeerState,
  fileLogName,
  httpServiceLogName,
  providerLogger,
  serviceConfig,
  tcpServiceLogName,
} from "./access-log-providers.js";

/** The access logs of one part of a listener. Source: pilot/pkg/networking/core/accesslog.go. */
export function accessLogs(q: QueryContext, listener: ListenerClass, logged: AccessLogKind): readonly AccessLog[] {
  return q.call(logs, { listener, logged });
}

const logs = query(
  "accessLogs",
  (
    q,
    { listener, logged }: { readonly listener: ListenerClass; readonly logged: AccessLogKind },
  ): readonly AccessLog[] => {
    if (logged === "listener" && mesh(q).disableEnvoyListenerLog) return [];
    // Unknown providers, other kinds of providers and those without an address are ignored.
    const targets = q.call(accessLogTargets, listener).flatMap((target) => {
      const log = providerLogger(q, target.provider);
      return log === undefined ? [] : [{ ...target, log }];
    });
    if (targets.length === 0) return meshLogs(q, logged);
    return targets
      .filter(({ disabled }) => !disabled)
      .map(({ log, filter }) => {
        const own = defaultFilters[logged];
        const filters = [...(own === undefined ? [] : [own]), ...(filter === "" ? [] : [celFilter(filter)])];
        return accessLog(log.name, log.config, andFilter(filters));
      });
  },
);

/** Returns the logs of MeshConfig's own fields, used if neither Telemetry nor the default providers configure one. */
function meshLogs(q: QueryContext, logged: AccessLogKind): readonly AccessLog[] {
  const settings = mesh(q);
  const filter = defaultFilters[logged];
  const sendsToService =
    settings.enableEnvoyAccessLogService && logged !== "hbone-origination" && logged !== "hbone-termination";
  return [
    ...(settings.accessLogFile === ""
      ? []
      : [accessLog(fileLogName, fileAccessLog(settings.accessLogFile, meshFormat(q)), filter)]),
    ...(sendsToService ? [meshService(logged, filter)] : []),
  ];
}

/** The access log service in the bootstrap (`envoyAccessLogService`). */
function meshService(logged: "http" | "tcp" | "listener", filter: AccessLogFilter | undefined): AccessLog {
  const logName = { http: "http_envoy_accesslog", tcp: "tcp_envoy_accesslog", listener: "listener_envoy_accesslog" }[
    logged
  ];
  const commonConfig = serviceConfig(logName, "envoy_accesslog_service", "", allPeerState);
  return logged === "http"
    ? accessLog(httpServiceLogName, packAny(HttpGrpcAccessLogConfigSchema, { commonConfig }), filter)
    : accessLog(tcpServiceLogName, packAny(TcpGrpcAccessLogConfigSchema, { commonConfig }), filter);
}

function accessLog(name: string, typedConfig: Any, filter: AccessLogFilter | undefined): AccessLog {
  return create(AccessLogSchema, {
    name,
    configType: { case: "typedConfig", value: typedConfig },
    ...(filter && { filter }),
  });
}
