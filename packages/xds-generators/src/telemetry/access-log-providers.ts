import { create, type JsonObject } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import { ApiVersion } from "@istiod/envoy-api/envoy/config/core/v3/config_source";
import {
  type CommonGrpcAccessLogConfig,
  CommonGrpcAccessLogConfigSchema,
  HttpGrpcAccessLogConfigSchema,
  TcpGrpcAccessLogConfigSchema,
} from "@istiod/envoy-api/envoy/extensions/access_loggers/grpc/v3/als";
import { OpenTelemetryAccessLogConfigSchema } from "@istiod/envoy-api/envoy/extensions/access_loggers/open_telemetry/v3/logs_service";
import { query, type QueryContext } from "@istiod/incremental";
import type {
  MeshConfig_ExtensionProvider as ExtensionProvider,
  MeshConfig_ExtensionProvider_EnvoyFileAccessLogProvider as FileProvider,
  MeshConfig_ExtensionProvider_EnvoyHttpGrpcV3LogProvider as HttpProvider,
  MeshConfig_ExtensionProvider_EnvoyOpenTelemetryLogProvider as OpenTelemetryProvider,
  MeshConfig_ExtensionProvider_EnvoyTcpGrpcV3LogProvider as TcpProvider,
} from "@istiod/istio-api/mesh/v1alpha1/config";
import { isSupportedFor, providerAddress } from "@istiod/push-context";
import { packAny } from "../envoy/any.js";
import { outboundClusterName } from "../resource-names.js";
import { defaultTextFormat, fileAccessLog, formattersFor, meshFormat } from "./access-log-format.js";

export const fileLogName = "envoy.access_loggers.file";
export const httpServiceLogName = "envoy.access_loggers.http_grpc";
export const tcpServiceLogName = "envoy.tcp_grpc_access_log";

/** An access logger of Envoy's with its configuration. */
interface AccessLogger {
  readonly name: string;
  readonly config: Any;
}

/**
 * The access logger of an extension provider; undefined if the provider is not one for logs, or its service is unknown.
 */
export function providerLogger(q: QueryContext, { name, provider }: ExtensionProvider): AccessLogger | undefined {
  if (!isSupportedFor("accessLogging", provider)) return undefined;
  switch (provider.case) {
    case "envoyFileAccessLog":
      return { name: fileLogName, config: fileLog(q, name, provider.value) };
    case "envoyHttpAls":
      return httpServiceLogger(q, provider.value);
    case "envoyTcpAls": {
      const commonConfig = q.call(providerServiceConfig, {
        service: provider.value.service,
        port: provider.value.port,
        logName: provider.value.logName || "tcp_envoy_accesslog",
        state: stateToLog(provider.value),
      });
      return (
        commonConfig && { name: tcpServiceLogName, config: packAny(TcpGrpcAccessLogConfigSchema, { commonConfig }) }
      );
    }
    case "envoyOtelAls":
      return openTelemetryLogger(q, provider.value);
  }
}

const defaultLogFile = "/dev/stdout";

/** The provider `envoy` without a format of its own uses the mesh's. */
function fileLog(q: QueryContext, name: string, { path, logFormat, omitEmptyValues }: FileProvider): Any {
  if (name === "envoy" && logFormat === undefined && !omitEmptyValues)
    return fileAccessLog(path || defaultLogFile, meshFormat(q));
  return fileAccessLog(path || defaultLogFile, fileFormat(logFormat), omitEmptyValues);
}

/** Returns the format of a file provider. An empty `logFormat` leaves it to Envoy, unlike one that is absent. */
function fileFormat(declared: FileProvider["logFormat"]) {
  if (declared === undefined) return { text: "" };
  const { logFormat } = declared;
  if (logFormat.case === undefined) return undefined;
  return logFormat.case === "labels" ? { json: logFormat.value } : { text: logFormat.value };
}

function httpServiceLogger(q: QueryContext, provider: HttpProvider): AccessLogger | undefined {
  const { service, port, logName } = provider;
  const commonConfig = q.call(providerServiceConfig, {
    service,
    port,
    logName: logName || "http_envoy_accesslog",
    state: stateToLog(provider),
  });
  const { additionalRequestHeadersToLog, additionalResponseHeadersToLog, additionalResponseTrailersToLog } = provider;
  const headers = { additionalRequestHeadersToLog, additionalResponseHeadersToLog, additionalResponseTrailersToLog };
  return (
    commonConfig && {
      name: httpServiceLogName,
      config: packAny(HttpGrpcAccessLogConfigSchema, { commonConfig, ...headers }),
    }
  );
}

function openTelemetryLogger(
  q: QueryContext,
  { logName, service, port, logFormat }: OpenTelemetryProvider,
): AccessLogger | undefined {
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

function stateToLog({ filterStateObjectsToLog: state }: HttpProvider | TcpProvider): readonly string[] {
  return state.length > 0 ? state : peerState;
}

/** The filter state that the metadata exchange filters set. */
const peerState = ["upstream_peer", "downstream_peer"];
/** The same, plus the filter state of proxies before Istio 1.24. */
export const allPeerState = [
  ...peerState,
  "wasm.upstream_peer",
  "wasm.upstream_peer_id",
  "wasm.downstream_peer",
  "wasm.downstream_peer_id",
];

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

export function serviceConfig(
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
