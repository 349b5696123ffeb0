import fc from "fast-check";
import { expressions, knownExpressions } from "../../envoy-verdicts/expressions.js";
import { composedFormats, headerForms, operatorForms } from "../../envoy-verdicts/format-strings.js";
import { durations, from, headerNames, list, some } from "../values.js";
import { object } from "./manifest.js";

/** Valid and invalid format strings, weighted towards valid ones. */
export const formats = fc.oneof(
  from("%PROTOCOL%", "%REQ(x-b?x-c):10%", "100%%", "%START_TIME(%s.%3f)%", "%DYNAMIC_METADATA(a:b)%", "a"),
  from("%CEL(request.headers.`x-y`)%", '%COALESCE({"operators":["HOSTNAME"]})%', "%REQ_WITHOUT_QUERY(:path)%"),
  fc.constantFrom(...operatorForms),
  fc.constantFrom(...headerForms),
  composedFormats,
);

/** Valid and invalid expressions. */
const filters = fc.oneof(
  from(
    "response.code >= 400",
    "request.headers.`x-y` == 'a' // b",
    "request.duration > google.protobuf.Duration{seconds: 1}",
  ),
  fc.constantFrom(...knownExpressions),
  expressions,
);

/** Names of the providers of {@link providers}. */
const providerNames = ["file", "labels", "otlp", "zipkin", "otel-http", "otel-grpc", "authz"] as const;

/** A Telemetry with formatters, expressions and providers, and a VirtualService with headers of their forms. */
export const formatted = fc.oneof(
  object(
    "telemetry.istio.io/v1",
    "Telemetry",
    some({
      tracing: list(
        some(
          {
            customTags: fc.dictionary(
              from("a", "b"),
              fc.oneof(
                formats.map((value) => ({ formatter: { value } })),
                headerNames.map((name) => ({ header: { name } })),
                fc.constant({}),
              ),
              { maxKeys: 2 },
            ),
            providers: list(fc.record({ name: from("zipkin", "otel-http", "otel-grpc") }), 1),
          },
          ["providers"],
        ),
        1,
      ),
      accessLogging: list(
        some(
          {
            filter: filters.map((expression) => ({ expression })),
            providers: list(fc.record({ name: from("file", "labels", "otlp", "envoy") }), 2),
          },
          ["providers"],
        ),
        2,
      ),
    }),
  ),
  object(
    "networking.istio.io/v1",
    "VirtualService",
    fc
      .tuple(fc.dictionary(from("x-a", "x-b"), formats, { minKeys: 1, maxKeys: 2 }), from("request", "response"))
      .map(([set, side]) => ({
        hosts: ["cart.shop.svc.cluster.local"],
        http: [
          {
            headers: { [side]: { add: set } },
            route: [{ destination: { host: "cart" }, headers: { [side]: { set } } }],
          },
        ],
      })),
  ),
);

const service = { service: "cart.shop.svc.cluster.local", port: 80 };
const json: fc.Arbitrary<unknown> = fc.oneof(
  formats,
  fc.constantFrom<unknown>(1, true, null),
  formats.map((text) => ({ inner: [text] })),
);
const sentHeaders = list(
  fc.record({ name: fc.oneof(from("x-a"), headerNames), value: fc.oneof(from("a", "%HOSTNAME%"), formats) }),
);

/** Settings of the mesh that reach Envoy: its own log format, and providers that Telemetries may name. */
export const meshSettings = fc
  .record({
    file: formats,
    labels: fc.dictionary(from("a", "b"), json, { minKeys: 1, maxKeys: 2 }),
    otlp: fc.record({ text: formats, labels: fc.dictionary(from("a"), json) }),
    zipkin: sentHeaders,
    http: sentHeaders,
    grpc: sentHeaders,
    authz: fc.dictionary(headerNames, formats, { maxKeys: 1 }),
    timeout: durations,
    format: formats,
    encoding: from("TEXT", "JSON"),
    kept: fc.subarray([...providerNames]),
  })
  .map(({ kept, format, encoding, timeout, ...given }) => {
    const all = [
      { name: "file", envoyFileAccessLog: { path: "/dev/null", logFormat: { text: given.file } } },
      { name: "labels", envoyFileAccessLog: { path: "/dev/null", logFormat: { labels: given.labels } } },
      { name: "otlp", envoyOtelAls: { ...service, logFormat: given.otlp } },
      { name: "zipkin", zipkin: { ...service, headers: given.zipkin, timeout } },
      { name: "otel-http", opentelemetry: { ...service, http: { path: "/", headers: given.http, timeout: "1s" } } },
      { name: "otel-grpc", opentelemetry: { ...service, grpc: { initialMetadata: given.grpc } } },
      { name: "authz", envoyExtAuthzHttp: { ...service, includeAdditionalHeadersInCheck: given.authz } },
    ];
    return {
      accessLogEncoding: encoding,
      accessLogFormat: encoding === "JSON" ? JSON.stringify({ a: format }) : format,
      extensionProviders: all.filter(({ name }) => (kept as string[]).includes(name)),
    };
  });
