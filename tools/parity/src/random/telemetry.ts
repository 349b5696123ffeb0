import fc from "fast-check";
import { attachment, duration, entries, few, objects, oneOf, optional, percentage } from "./arbitraries.js";
import { referencedNames } from "./extension-providers.js";

const mode = oneOf("CLIENT_AND_SERVER", "CLIENT", "SERVER");
/** Names of providers in any case, and one that does not exist. */
const providers = few(
  oneOf(...referencedNames, "PROM", "Zipkin-A", "absent").map((name) => ({ name })),
  2,
);

const accessLogging = optional({
  match: optional({ mode }),
  providers,
  disabled: fc.boolean(),
  filter: fc.record({
    expression: oneOf("response.code >= 400", "connection.mtls && request.url_path.contains('v1beta3')"),
  }),
});

const metrics = [
  "ALL_METRICS",
  ...["REQUEST_COUNT", "REQUEST_DURATION", "REQUEST_SIZE", "RESPONSE_SIZE", "TCP_OPENED_CONNECTIONS"],
  ...["TCP_CLOSED_CONNECTIONS", "TCP_SENT_BYTES", "TCP_RECEIVED_BYTES", "GRPC_REQUEST_MESSAGES"],
  "GRPC_RESPONSE_MESSAGES",
] as const;

const metricSelector = fc
  .tuple(
    fc.oneof(
      oneOf(...metrics).map((metric) => ({ metric })),
      oneOf("my_metric", "requests_total").map((customMetric) => ({ customMetric })),
      fc.constant({}),
    ),
    optional({ mode }),
  )
  .map(([metric, rest]) => ({ ...metric, ...rest }));

const tagOverride = fc.oneof(
  oneOf("request.host", "'constant'", "has(node.id) ? node.id : 'x'").map((value) => ({ operation: "UPSERT", value })),
  fc.constant({ value: "request.method" }),
  fc.constant({ operation: "REMOVE" }),
);

const metricsSettings = optional({
  providers,
  overrides: few(
    optional({
      match: metricSelector,
      disabled: fc.boolean(),
      tagOverrides: entries(oneOf("request_host", "source_principal", "destination_port", "z", "a"), tagOverride),
    }),
    4,
  ),
  reportingInterval: duration,
});

const customTag = fc.oneof(
  oneOf("v1", "v 2").map((value) => ({ literal: { value } })),
  optional({ defaultValue: oneOf("", "none") }).map((rest) => ({ environment: { name: "POD_NAME", ...rest } })),
  optional({ defaultValue: oneOf("", "none") }).map((rest) => ({ header: { name: "x-tenant", ...rest } })),
  oneOf("%REQ(X-TENANT)%", "%PROTOCOL%").map((value) => ({ formatter: { value } })),
);

const tracing = optional({
  match: optional({ mode }),
  providers,
  randomSamplingPercentage: percentage,
  disableSpanReporting: fc.boolean(),
  customTags: entries(oneOf("tenant", "a.tag", "Z", "istio.mesh_id"), customTag),
  useRequestIdForTraceSampling: fc.boolean(),
  enableIstioTags: fc.boolean(),
  disableContextPropagation: fc.boolean(),
});

const spec = fc
  .tuple(
    attachment,
    optional({ accessLogging: few(accessLogging, 3), metrics: few(metricsSettings, 3), tracing: few(tracing, 2) }),
  )
  .map(([target, rest]) => ({ ...target, ...rest }));

/** Telemetry objects of the mesh, of namespaces and of workloads. */
export const telemetries = objects("telemetry.istio.io/v1", "Telemetry", spec, 5, 1);
