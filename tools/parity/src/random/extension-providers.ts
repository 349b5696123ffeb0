import fc, { type Arbitrary } from "fast-check";
import { duration, entries, few, oneOf, optional } from "./arbitraries.js";

/** The names of random extension providers, without the one that Istio's mesh configuration always has. */
export const providerNames = [
  ...["prom", "prom-b", "file", "file-labels", "envoy", "als", "tcp-als", "otel-als"],
  ...["zipkin-a", "zipkin-b", "datadog", "skywalking", "otel-grpc", "otel-http", "otel-both"],
  ...["lightstep", "opencensus", "stackdriver", "authz-http", "authz-grpc", "sds"],
] as const;

/** The names by which random objects refer to providers. Istio's pilot-discovery ends with a tracer of `lightstep`. */
export const referencedNames = providerNames.filter((name) => name !== "lightstep");

type ProviderName = (typeof providerNames)[number];

/** Services of providers: known, of another namespace, ambiguous, unknown, or external. */
const service = fc.oneof(
  { weight: 6, arbitrary: oneOf("otel.obs.svc.cluster.local", "obs/otel.obs.svc.cluster.local") },
  {
    weight: 2,
    arbitrary: oneOf("shop/collector.example.com", "collector.example.com", "shop/otel.obs.svc.cluster.local", "none"),
  },
);
const port = oneOf(4317, 9411, 1);
const address = fc.record({ service, port });

const header = fc.oneof(
  oneOf("secret", "%PROTOCOL%", "").map((value) => ({ name: "authorization", value })),
  oneOf("RANDOM_MESH_TOKEN", "RANDOM_MESH_ABSENT").map((envName) => ({ name: "x-token", envName })),
);
const headers = few(header, 2);
const labels = entries(
  oneOf("status", "path", "z", "a"),
  oneOf("%RESPONSE_CODE%", "%REQ_WITHOUT_QUERY(:PATH)%", "%METADATA(ROUTE:istio)%", "%CEL(request.method)%", "plain"),
);
const text = oneOf("%START_TIME% %REQ_WITHOUT_QUERY(:PATH)%", "[%START_TIME%]\n", "%CEL(request.method)%", "");
const state = few(oneOf("upstream_peer", "wasm.custom"), 2);
const maxTagLength = oneOf(0, 32, 1024);

/** Addresses with a port that every service has: without a cluster, Envoy rejects listeners with Istio's tracer. */
const clusterAddress = fc.record({ service, port: fc.constant(4317) });

/** Returns the fields of a provider that are required, with some of the others. */
const withAddress = <T extends object>(
  fields: { [K in keyof T]: Arbitrary<T[K]> },
  required: Arbitrary<object> = address,
): Arbitrary<object> => fc.tuple(required, optional(fields)).map(([own, rest]) => ({ ...own, ...rest }));

const fileLog = (format: Arbitrary<object>): Arbitrary<object> =>
  optional({ path: oneOf("/dev/stderr", "", "/tmp/log"), logFormat: format, omitEmptyValues: fc.boolean() });
/** The provider whose format is the mesh's. Without a path, Istio's has none, and Envoy rejects it. */
const builtinLog = optional({ logFormat: optional({ labels }), omitEmptyValues: fc.boolean() }).map((rest) => ({
  path: "/dev/stderr",
  ...rest,
}));

const openTelemetry = (...exporters: readonly ("http" | "grpc")[]): Arbitrary<object> =>
  fc
    .tuple(
      address,
      optional({
        maxTagLength,
        resourceDetectors: optional({ environment: fc.constant({}), dynatrace: fc.constant({}) }),
        serviceAttributeEnrichment: oneOf("ISTIO_CANONICAL", "OTEL_SEMANTIC_CONVENTIONS"),
        dynatraceSampler: fc
          .tuple(
            fc.record({ tenant: oneOf("t"), clusterId: oneOf(-7, 42) }),
            optional({
              rootSpansPerMinute: oneOf(0, 500),
              httpService: fc.record({
                service,
                port,
                http: fc
                  .tuple(fc.record({ path: oneOf("/s", "s/./t") }), optional({ timeout: duration, headers }))
                  .map(([required, rest]) => ({ ...required, ...rest })),
              }),
            }),
          )
          .map(([required, rest]) => ({ ...required, ...rest })),
      }),
      fc.record({
        http: fc
          .tuple(fc.record({ path: oneOf("/v1/traces", "a b", "//x/") }), optional({ timeout: duration, headers }))
          .map(([required, rest]) => ({ ...required, ...rest })),
        grpc: optional({ timeout: duration, initialMetadata: headers }),
      }),
    )
    .map(([required, rest, all]) => ({
      ...required,
      ...rest,
      ...Object.fromEntries(exporters.map((each) => [each, all[each]])),
    }));

/** Returns providers of every kind of Istio's API. */
const kinds: Readonly<Record<ProviderName, Arbitrary<object>>> = {
  prom: fc.constant({ prometheus: {} }),
  "prom-b": fc.constant({ prometheus: {} }),
  file: fileLog(optional({ text })).map((envoyFileAccessLog) => ({ envoyFileAccessLog })),
  "file-labels": fileLog(optional({ labels })).map((envoyFileAccessLog) => ({ envoyFileAccessLog })),
  envoy: builtinLog.map((envoyFileAccessLog) => ({ envoyFileAccessLog })),
  als: withAddress({
    logName: oneOf("requests"),
    filterStateObjectsToLog: state,
    additionalRequestHeadersToLog: few(oneOf("x-a", "x-b")),
    additionalResponseHeadersToLog: few(oneOf("x-a", "x-b")),
    additionalResponseTrailersToLog: few(oneOf("x-a", "x-b")),
  }).map((envoyHttpAls) => ({ envoyHttpAls })),
  "tcp-als": withAddress({ logName: oneOf("connections"), filterStateObjectsToLog: state }).map((envoyTcpAls) => ({
    envoyTcpAls,
  })),
  "otel-als": withAddress({ logName: oneOf("otel"), logFormat: optional({ text, labels }) }).map((envoyOtelAls) => ({
    envoyOtelAls,
  })),
  "zipkin-a": zipkin(),
  "zipkin-b": zipkin(),
  datadog: withAddress({ maxTagLength }, clusterAddress).map((datadog) => ({ datadog })),
  skywalking: withAddress({ accessToken: oneOf("token") }).map((skywalking) => ({ skywalking })),
  "otel-grpc": openTelemetry("grpc").map((opentelemetry) => ({ opentelemetry })),
  "otel-http": openTelemetry("http").map((opentelemetry) => ({ opentelemetry })),
  "otel-both": openTelemetry().map((opentelemetry) => ({ opentelemetry })),
  lightstep: withAddress({ maxTagLength, accessToken: oneOf("t") }).map((lightstep) => ({ lightstep })),
  opencensus: withAddress({ maxTagLength }).map((opencensus) => ({ opencensus })),
  stackdriver: fc.constant({ stackdriver: {} }),
  "authz-http": withAddress({ pathPrefix: oneOf("/check") }).map((envoyExtAuthzHttp) => ({ envoyExtAuthzHttp })),
  "authz-grpc": withAddress({ failOpen: fc.boolean() }).map((envoyExtAuthzGrpc) => ({ envoyExtAuthzGrpc })),
  sds: address.map((rest) => ({ sds: { name: "sds", ...rest } })),
};

function zipkin(): Arbitrary<object> {
  return withAddress(
    {
      maxTagLength,
      enable64bitTraceId: fc.boolean(),
      path: oneOf("/custom", ""),
      traceContextOption: oneOf("USE_B3", "USE_B3_WITH_W3C_PROPAGATION"),
      timeout: duration,
      headers,
    },
    clusterAddress,
  ).map((provider) => ({ zipkin: provider }));
}

/** The extension providers of a mesh, in a random order. */
export const extensionProviders: Arbitrary<object[]> = fc
  .tuple(...providerNames.map((name) => kinds[name].map((provider) => ({ name, ...provider }))))
  .chain((all) => fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length }));
