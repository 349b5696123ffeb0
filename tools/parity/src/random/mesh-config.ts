import fc, { type Arbitrary } from "fast-check";
import { entries, few, oneOf, optional, percentage } from "./arbitraries.js";
import { extensionProviders, referencedNames } from "./extension-providers.js";

const defaultTag = fc.oneof(
  oneOf("v").map((value) => ({ literal: { value } })),
  optional({ defaultValue: oneOf("none") }).map((rest) => ({ environment: { name: "HOSTNAME", ...rest } })),
  optional({ defaultValue: oneOf("none") }).map((rest) => ({ header: { name: "x-id", ...rest } })),
);

/** The tracing part of ProxyConfig: that of the mesh, or of a proxy. */
export const proxyTracing = fc
  .tuple(
    optional({
      sampling: percentage,
      maxPathTagLength: oneOf(0, 64),
      customTags: entries(oneOf("env", "b.tag", "tenant"), defaultTag),
      enableIstioTags: fc.boolean(),
    }),
    fc.oneof(fc.constant({}), fc.constant({ zipkin: { address: "zipkin.obs:9411" } })),
  )
  .map(([settings, tracer]) => ({ ...settings, ...tracer }));

const defaults = optional({
  accessLogging: few(oneOf("file", "envoy", "otel-als", "absent"), 2),
  metrics: few(oneOf("prom", "prom-b", "stackdriver"), 2),
  tracing: few(oneOf(...referencedNames), 2),
});

/** Mesh configuration for telemetry: logs, tracing, and providers of every kind. */
export const telemetryMeshConfig: Arbitrary<object> = fc
  .tuple(
    optional({
      accessLogFile: oneOf("/dev/stdout", "/tmp/mesh.log"),
      accessLogEncoding: oneOf("TEXT", "JSON"),
      accessLogFormat: oneOf("%START_TIME% %REQ_WITHOUT_QUERY(:PATH)%\n", '{"path": "%REQ_WITHOUT_QUERY(:PATH)%"}'),
      enableEnvoyAccessLogService: fc.boolean(),
      disableEnvoyListenerLog: fc.boolean(),
      enableTracing: fc.boolean(),
      defaultProviders: defaults,
      defaultConfig: optional({ tracing: proxyTracing }),
    }),
    extensionProviders,
  )
  .map(([settings, providers]) => ({ ...settings, extensionProviders: providers }));
