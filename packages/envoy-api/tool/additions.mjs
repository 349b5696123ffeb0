/**
 * Fields of Envoy's API that are newer than the protos this package is generated from, with the numbers that Envoy gives them
 * (envoyproxy/envoy, api/). An entry whose field the published proto has by now is left out. Whole files that are missing are in stubs/.
 */
const additions = [
  {
    file: "envoy/config/cluster/v3/cluster.proto",
    message: "Cluster",
    lines: ["google.protobuf.Duration dns_jitter = 58;"],
  },
  {
    file: "envoy/config/cluster/v3/circuit_breaker.proto",
    message: "CircuitBreakers.Thresholds.RetryBudget",
    imports: ["google/protobuf/duration.proto"],
    lines: ["google.protobuf.Duration budget_interval = 3;"],
  },
  {
    file: "envoy/config/trace/v3/zipkin.proto",
    message: "ZipkinConfig",
    imports: ["envoy/config/core/v3/http_service.proto"],
    types: ["enum TraceContextOption { USE_B3 = 0; USE_B3_WITH_W3C_PROPAGATION = 1; }"],
    lines: [
      "TraceContextOption trace_context_option = 8;",
      "core.v3.HttpService collector_service = 9;",
      "bool timestamp_trace_ids = 10;",
    ],
  },
  { file: "envoy/type/tracing/v3/custom_tag.proto", message: "CustomTag", oneof: "type", lines: ["string value = 6;"] },
  {
    file: "envoy/extensions/upstreams/http/v3/http_protocol_options.proto",
    message: "HttpProtocolOptions",
    imports: ["envoy/config/common/matcher/v3/matcher.proto"],
    types: ["message OutlierDetection { config.common.matcher.v3.MatchPredicate error_matcher = 1; }"],
    lines: ["OutlierDetection outlier_detection = 8;"],
  },
  {
    file: "envoy/extensions/wasm/v3/wasm.proto",
    message: "PluginConfig",
    imports: ["envoy/config/core/v3/backoff.proto", "google/protobuf/wrappers.proto"],
    fileTypes: [
      "enum FailurePolicy { UNSPECIFIED = 0; FAIL_RELOAD = 1; FAIL_CLOSED = 2; FAIL_OPEN = 3; }",
      "message ReloadConfig { config.core.v3.BackoffStrategy backoff = 1; }",
    ],
    lines: [
      "FailurePolicy failure_policy = 7;",
      "ReloadConfig reload_config = 8;",
      "google.protobuf.BoolValue allow_on_headers_stop_iteration = 9;",
    ],
  },
  {
    file: "envoy/extensions/transport_sockets/tls/v3/common.proto",
    message: "TlsParameters",
    types: ["enum CompliancePolicy { FIPS_202205 = 0; }"],
    lines: ["repeated CompliancePolicy compliance_policies = 6;"],
  },
  {
    file: "envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager.proto",
    message: "HttpConnectionManager.Tracing",
    lines: ["string operation = 11;", "string upstream_operation = 12;", "bool no_context_propagation = 13;"],
  },
];

/** The text of a proto file with the additions that it lacks. Throws where the message or oneof to add to is not there. */
export function withAdditions(file, source) {
  return additions.filter((addition) => addition.file === file).reduce(extended, source);
}

/** Files that additions are meant for, so that one which is gone can be noticed. */
export const extendedFiles = new Set(additions.map((addition) => addition.file));

function extended(source, { file, message, oneof, imports = [], fileTypes = [], types = [], lines }) {
  let at = 0;
  for (const name of message.split("."))
    at = after(source, new RegExp(String.raw`\bmessage ${name} \{`), at, `${file}: message ${name}`);
  const body = source.slice(at, closingBrace(source, at));
  const missing = lines.filter((line) => !new RegExp(String.raw`\b${nameAndNumber(line)}\b`).test(body));
  if (missing.length === 0) return source;
  if (missing.length < lines.length)
    throw new Error(`${file}: ${message} has a part of the additions; remove these from the table`);
  const into =
    oneof === undefined
      ? at
      : after(source, new RegExp(String.raw`\boneof ${oneof} \{`), at, `${file}: oneof ${oneof}`);
  const inserted = `\n${[...types, ...lines].map((line) => `  ${line}`).join("\n")}\n`;
  const text = source.slice(0, into) + inserted + source.slice(into);
  const absent = imports.filter((path) => !text.includes(`import "${path}";`)).map((path) => `import "${path}";\n`);
  return (
    text.replace(/^package [^;]+;\n/m, (line) => `${line}\n${absent.join("")}`) +
    fileTypes.map((type) => `\n${type}\n`).join("")
  );
}

function nameAndNumber(line) {
  return /\w+ = \d+/.exec(line)[0];
}

function after(source, pattern, from, what) {
  const found = pattern.exec(source.slice(from));
  if (found === null) throw new Error(`${what} is not there`);
  return from + found.index + found[0].length;
}

function closingBrace(source, from) {
  let depth = 1;
  for (let i = from; i < source.length; i++) {
    if (source[i] === "{") depth++;
    else if (source[i] === "}" && --depth === 0) return i;
  }
  return source.length;
}
