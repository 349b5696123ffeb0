import { create, type JsonObject } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import {
  type TypedExtensionConfig,
  TypedExtensionConfigSchema,
} from "@istiod/envoy-api/envoy/config/core/v3/extension";
import {
  type SubstitutionFormatString,
  SubstitutionFormatStringSchema,
} from "@istiod/envoy-api/envoy/config/core/v3/substitution_format_string";
import { FileAccessLogSchema } from "@istiod/envoy-api/envoy/extensions/access_loggers/file/v3/file";
import { ReqWithoutQuerySchema } from "@istiod/envoy-api/envoy/extensions/formatter/req_without_query/v3/req_without_query";
import type { QueryContext } from "@istiod/incremental";
import { MeshConfig_AccessLogEncoding as Encoding } from "@istiod/istio-api/mesh/v1alpha1/config";
import { mesh } from "@istiod/push-context";
import { packAny } from "../envoy/any.js";

const fields: readonly (readonly [name: string, operator: string])[] = [
  ["start_time", "%START_TIME%"],
  ["method", "%REQ(:METHOD)%"],
  ["path", "%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%"],
  ["protocol", "%PROTOCOL%"],
  ["response_code", "%RESPONSE_CODE%"],
  ["response_flags", "%RESPONSE_FLAGS%"],
  ["response_code_details", "%RESPONSE_CODE_DETAILS%"],
  ["connection_termination_details", "%CONNECTION_TERMINATION_DETAILS%"],
  ["upstream_transport_failure_reason", "%UPSTREAM_TRANSPORT_FAILURE_REASON%"],
  ["bytes_received", "%BYTES_RECEIVED%"],
  ["bytes_sent", "%BYTES_SENT%"],
  ["duration", "%DURATION%"],
  ["upstream_service_time", "%RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)%"],
  ["x_forwarded_for", "%REQ(X-FORWARDED-FOR)%"],
  ["user_agent", "%REQ(USER-AGENT)%"],
  ["request_id", "%REQ(X-REQUEST-ID)%"],
  ["authority", "%REQ(:AUTHORITY)%"],
  ["upstream_host", "%UPSTREAM_HOST%"],
  ["upstream_cluster", "%UPSTREAM_CLUSTER_RAW%"],
  ["upstream_local_address", "%UPSTREAM_LOCAL_ADDRESS%"],
  ["downstream_local_address", "%DOWNSTREAM_LOCAL_ADDRESS%"],
  ["downstream_remote_address", "%DOWNSTREAM_REMOTE_ADDRESS%"],
  ["requested_server_name", "%REQUESTED_SERVER_NAME%"],
  ["route_name", "%ROUTE_NAME%"],
];

/** Istio's text format. Source: https://istio.io/docs/tasks/observability/logs/access-log. */
export const defaultTextFormat: string = (() => {
  const of = Object.fromEntries(fields);
  const quoted = (name: string): string => `"${of[name]}"`;
  return `${[
    `[${of["start_time"]}]`,
    `"${of["method"]} ${of["path"]} ${of["protocol"]}"`,
    ...["response_code", "response_flags", "response_code_details", "connection_termination_details"].map(
      (name) => of[name],
    ),
    quoted("upstream_transport_failure_reason"),
    ...["bytes_received", "bytes_sent", "duration", "upstream_service_time"].map((name) => of[name]),
    ...["x_forwarded_for", "user_agent", "request_id", "authority", "upstream_host"].map(quoted),
    ...[
      "upstream_cluster",
      "upstream_local_address",
      "downstream_local_address",
      "downstream_remote_address",
      "requested_server_name",
      "route_name",
    ].map((name) => of[name]),
  ].join(" ")}\n`;
})();

const defaultJsonFormat: JsonObject = Object.fromEntries(fields);

/** The format of an access log. */
type LogFormat = { readonly text: string } | { readonly json: JsonObject };

/** An access log file. An empty text or JSON format is Istio's default; without a format, Envoy's applies. */
export function fileAccessLog(path: string, format: LogFormat | undefined, omitEmptyValues = false): Any {
  return packAny(FileAccessLogSchema, {
    path,
    ...(format && { accessLogFormat: { case: "logFormat", value: substitution(format, omitEmptyValues) } }),
  });
}

function substitution(format: LogFormat, omitEmptyValues: boolean): SubstitutionFormatString {
  if ("text" in format) {
    const text = textLine(format.text);
    return create(SubstitutionFormatStringSchema, {
      format: { case: "textFormatSource", value: { specifier: { case: "inlineString", value: text } } },
      omitEmptyValues,
      formatters: formattersFor([text]),
    });
  }
  const json = Object.keys(format.json).length === 0 ? defaultJsonFormat : format.json;
  return create(SubstitutionFormatStringSchema, {
    format: { case: "jsonFormat", value: json },
    jsonFormatOptions: { sortProperties: false },
    omitEmptyValues,
    formatters: formattersFor([JSON.stringify(json)]),
  });
}

/** Returns the formatter extensions that operators in the format strings need. */
export function formattersFor(formats: readonly string[]): TypedExtensionConfig[] {
  if (!formats.some((text) => text.includes("%REQ_WITHOUT_QUERY"))) return [];
  return [
    create(TypedExtensionConfigSchema, {
      name: "envoy.formatter.req_without_query",
      typedConfig: packAny(ReqWithoutQuerySchema),
    }),
  ];
}

function textLine(text: string): string {
  if (text === "") return defaultTextFormat;
  return text.endsWith("\n") ? text : `${text}\n`;
}
export function meshFormat(q: QueryContext): LogFormat {
  const { accessLogEncoding, accessLogFormat } = mesh(q);
  return accessLogEncoding === Encoding.JSON ? { json: parseJsonFormat(accessLogFormat) } : { text: accessLogFormat };
}
/** Parses a JSON format. An invalid one counts as empty, so that the default applies. */
function parseJsonFormat(text: string): JsonObject {
  try {
    const value: unknown = text === "" ? {} : JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
  } catch {
    return {};
  }
}
