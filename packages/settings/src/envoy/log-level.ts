const levels: ReadonlySet<string> = new Set("trace debug info warning warn error critical off".split(" "));

/** Components of Envoy 1.40 with a log level of their own. */
const components: ReadonlySet<string> = new Set(
  `a2a admin ai_protocol_manager alternate_protocols_cache aws assert backtrace basic_auth cache_filter client config
   connection conn_handler compression credential_injector decompression dns dubbo envoy_bug ext_authz ext_proc rocketmq
   file filter forward_proxy geolocation grpc happy_eyeballs hc health_checker http http2 hystrix init io jwt json_rpc
   kafka key_value_store lua local_rate_limit main matcher mcp misc mongo multi_connection notification oauth2 quic
   quic_stream pool rate_limit_quota rbac rds redis router runtime stats secret sse tap testing thrift tracing upstream
   udp wasm websocket golang stats_sinks dynamic_modules ip_tagging`.split(/\s+/),
);

/** Annotations of a pod that set the log levels of its proxy. */
export const logLevelAnnotations = ["sidecar.istio.io/logLevel", "sidecar.istio.io/componentLogLevel"] as const;

/** Returns the reason why Envoy would exit with log levels such as `warning,upstream:debug`; undefined otherwise. */
export function logLevelFault(text: string): string | undefined {
  for (const part of text.split(",").filter((element) => element !== "")) {
    const [component, level, ...rest] = part.includes(":") ? part.split(":") : [undefined, part];
    if (rest.length > 0 || level === undefined || !levels.has(level))
      return `has ${JSON.stringify(part)}, expected a level: ${[...levels].join(", ")}`;
    if (component !== undefined && !components.has(component))
      return `has ${JSON.stringify(part)}, but proxies have no component ${JSON.stringify(component)}`;
  }
  return undefined;
}
