import { create, type JsonObject } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import {
  type AccessLog,
  AccessLogSchema,
  type AccessLogFilter,
  AccessLogFilterSchema,
  ComparisonFilter_Op,
} from "@istiod/envoy-api/envoy/config/accesslog/v3/accesslog";
import { ApiVersion } from "@istiod/envoy-api/envoy/config/core/v3/config_source";
import {
  type CommonGrpcAccessLogConfig,
  CommonGrpcAccessLogConfigSchema,
  HttpGrpcAccessLogConfigSchema,
  TcpGrpcAccessLogConfigSchema,
} from "@istiod/envoy-api/envoy/extensions/access_loggers/grpc/v3/als";
import { ExpressionFilterSchema } from "@istiod/envoy-api/envoy/extensions/access_loggers/filters/cel/v3/cel";
import { OpenTelemetryAccessLogConfigSchema } from "@istiod/envoy-api/envoy/extensions/access_loggers/open_telemetry/v3/logs_service";
import { type QueryContext, query } from "@istiod/incremental";
import {
  type MeshConfig_ExtensionProvider as ExtensionProvider,
  MeshConfig_AccessLogEncoding as Encoding,
} from "@istiod/istio-api/mesh/v1alpha1/config";
import { accessLogTargets, type ListenerClass, mesh, providerAddress } from "@istiod/push-context";
import { packAny } from "../envoy/any.js";
import { outboundClusterName } from "../resource-names.js";
import { defaultTextFormat, fileAccessLog, formattersFor, type LogFormat } from "./access-log-format.js";

/**
 * What is logged: requests, connections, connections for which a listener had no filter chain, HBONE tunnels that could not be
 * opened, or HBONE tunnels that were rejected. Of a tunnel that works, only what it carries is logged.
 */
export type AccessLogKind = "http" | "tcp" | "listener" | "hbone-origination" | "hbone-termination";

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
    // Providers that are unknown, or no logs, or have no address say nothing.
    const targets = q.call(accessLogTargets, listener).flatMap((target) => {
      const log = providerLog(q, target.provider);
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

/** As MeshConfig's own fields say: where neither Telemetry nor the default providers name a log for such a listener. */
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

function meshFormat(q: QueryContext): LogFormat {
  const { accessLogEncoding, accessLogFormat } = mesh(q);
  return accessLogEncoding === Encoding.JSON ? { json: parseJsonFormat(accessLogFormat) } : { text: accessLogFormat };
}

/** An unreadable format counts as none, so that something is logged. */
function parseJsonFormat(text: string): JsonObject {
  try {
    const value: unknown = text === "" ? {} : JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
  } catch {
    return {};
  }
}

const fileLogName = "envoy.access_loggers.file";
const httpServiceLogName = "envoy.access_loggers.http_grpc";
const tcpServiceLogName = "envoy.tcp_grpc_access_log";

/** What the filters that exchange peers leave behind. */
const peerState = ["upstream_peer", "downstream_peer"];
/** The same, and what proxies before Istio 1.24 leave. */
const allPeerState = [
  ...peerState,
  "wasm.upstream_peer",
  "wasm.upstream_peer_id",
  "wasm.downstream_peer",
  "wasm.downstream_peer_id",
];

/** The service that the bootstrap configures (`envoyAccessLogService`). */
function meshService(logged: "http" | "tcp" | "listener", filter: AccessLogFilter | undefined): AccessLog {
  const logName = { http: "http_envoy_accesslog", tcp: "tcp_envoy_accesslog", listener: "listener_envoy_accesslog" }[
    logged
  ];
  const commonConfig = serviceConfig(logName, "envoy_accesslog_service", "", allPeerState);
  return logged === "http"
    ? accessLog(httpServiceLogName, packAny(HttpGrpcAccessLogConfigSchema, { commonConfig }), filter)
    : accessLog(tcpServiceLogName, packAny(TcpGrpcAccessLogConfigSchema, { commonConfig }), filter);
}

function providerLog(
  q: QueryContext,
  { name, provider }: ExtensionProvider,
): { readonly name: string; readonly config: Any } | undefined {
  switch (provider.case) {
    case "envoyFileAccessLog": {
      const { path, logFormat, omitEmptyValues } = provider.value;
      if (name === "envoy" && logFormat === undefined && !omitEmptyValues)
        return { name: fileLogName, config: fileAccessLog(path, meshFormat(q)) };
      const format = logFormat?.logFormat;
      const config = fileAccessLog(
        path || "/dev/stdout",
        format?.case === "labels" ? { json: format.value } : { text: format?.value ?? "" },
        omitEmptyValues,
      );
      return { name: fileLogName, config };
    }
    case "envoyHttpAls": {
      const { logName, filterStateObjectsToLog, ...settings } = provider.value;
      const commonConfig = q.call(providerServiceConfig, {
        service: settings.service,
        port: settings.port,
        logName: logName || "http_envoy_accesslog",
        state: filterStateObjectsToLog.length > 0 ? filterStateObjectsToLog : peerState,
      });
      const { additionalRequestHeadersToLog, additionalResponseHeadersToLog, additionalResponseTrailersToLog } =
        settings;
      const headers = {
        additionalRequestHeadersToLog,
        additionalResponseHeadersToLog,
        additionalResponseTrailersToLog,
      };
      return (
        commonConfig && {
          name: httpServiceLogName,
          config: packAny(HttpGrpcAccessLogConfigSchema, { commonConfig, ...headers }),
        }
      );
    }
    case "envoyTcpAls": {
      const { logName, filterStateObjectsToLog, service, port } = provider.value;
      const state = filterStateObjectsToLog.length > 0 ? filterStateObjectsToLog : peerState;
      const commonConfig = q.call(providerServiceConfig, {
        service,
        port,
        logName: logName || "tcp_envoy_accesslog",
        state,
      });
      return (
        commonConfig && { name: tcpServiceLogName, config: packAny(TcpGrpcAccessLogConfigSchema, { commonConfig }) }
      );
    }
    case "envoyOtelAls": {
      const { logName, service, port, logFormat } = provider.value;
      const commonConfig = q.call(providerServiceConfig, {
        service,
        port,
        logName: logName || "otel_envoy_accesslog",
        state: allPeerState,
      });
      return (
        commonConfig && {
          name: "envoy.access_loggers.open_telemetry",
          config: openTelemetryLog(commonConfig, logFormat?.text || defaultTextFormat, logFormat?.labels ?? {}),
        }
      );
    }
    default:
      return undefined;
  }
}

function openTelemetryLog(commonConfig: CommonGrpcAccessLogConfig, body: string, labels: JsonObject): Any {
  const attributes = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  const text = (value: unknown): string => (typeof value === "string" ? value : "");
  return packAny(OpenTelemetryAccessLogConfigSchema, {
    commonConfig,
    disableBuiltinLabels: true,
    body: { value: { case: "stringValue", value: body } },
    ...(attributes.length > 0 && {
      attributes: {
        values: attributes.map(([key, value]) => ({
          key,
          value: { value: { case: "stringValue" as const, value: text(value) } },
        })),
      },
    }),
    formatters: formattersFor([body, ...attributes.map(([, value]) => text(value))]),
  });
}

interface ProviderService {
  readonly service: string;
  readonly port: number;
  readonly logName: string;
  readonly state: readonly string[];
}

const providerServiceConfig = query(
  "accessLogServiceConfig",
  (q, { service, port, logName, state }: ProviderService): CommonGrpcAccessLogConfig | undefined => {
    const address = q.call(providerAddress, { service, port });
    return (
      address && serviceConfig(logName, outboundClusterName(address.hostname, address.port), address.hostname, state)
    );
  },
);

function serviceConfig(
  logName: string,
  clusterName: string,
  authority: string,
  state: readonly string[],
): CommonGrpcAccessLogConfig {
  return create(CommonGrpcAccessLogConfigSchema, {
    logName,
    grpcService: { targetSpecifier: { case: "envoyGrpc", value: { clusterName, authority } } },
    transportApiVersion: ApiVersion.V3,
    filterStateObjectsToLog: [...state],
  });
}

function accessLog(name: string, typedConfig: Any, filter: AccessLogFilter | undefined): AccessLog {
  return create(AccessLogSchema, {
    name,
    configType: { case: "typedConfig", value: typedConfig },
    ...(filter && { filter }),
  });
}

function responseFlag(flag: string): AccessLogFilter {
  return create(AccessLogFilterSchema, { filterSpecifier: { case: "responseFlagFilter", value: { flags: [flag] } } });
}

/** Statuses from 400. Envoy's API requires a runtime key; this one is never set. */
const failedRequest = create(AccessLogFilterSchema, {
  filterSpecifier: {
    case: "statusCodeFilter",
    value: { comparison: { op: ComparisonFilter_Op.GE, value: { defaultValue: 400, runtimeKey: "istio.io/unset" } } },
  },
});

/** Filters by which one part of a listener leaves out what another part logs. */
const defaultFilters: Readonly<Partial<Record<AccessLogKind, AccessLogFilter>>> = {
  listener: responseFlag("NR"),
  "hbone-origination": responseFlag("UF"),
  "hbone-termination": failedRequest,
};

function celFilter(expression: string): AccessLogFilter {
  const typedConfig = packAny(ExpressionFilterSchema, { expression });
  return create(AccessLogFilterSchema, {
    filterSpecifier: {
      case: "extensionFilter",
      value: {
        name: "envoy.access_loggers.extension_filters.cel",
        configType: { case: "typedConfig", value: typedConfig },
      },
    },
  });
}

function andFilter(filters: readonly AccessLogFilter[]): AccessLogFilter | undefined {
  return filters.length < 2
    ? filters[0]
    : create(AccessLogFilterSchema, { filterSpecifier: { case: "andFilter", value: { filters: [...filters] } } });
}
