import type { Any } from "@bufbuild/protobuf/wkt";
import { DatadogConfigSchema } from "@istiod/envoy-api/envoy/config/trace/v3/datadog";
import { SkyWalkingConfigSchema } from "@istiod/envoy-api/envoy/config/trace/v3/skywalking";
import {
  ZipkinConfig_CollectorEndpointVersion as EndpointVersion,
  ZipkinConfig_TraceContextOption as TraceContextOption,
  ZipkinConfigSchema,
} from "@istiod/envoy-api/envoy/config/trace/v3/zipkin";
import type { QueryContext } from "@istiod/incremental";
import {
  type MeshConfig_ExtensionProvider as ExtensionProvider,
  type MeshConfig_ExtensionProvider_DatadogTracingProvider as DatadogProvider,
  type MeshConfig_ExtensionProvider_OpenTelemetryTracingProvider as OpenTelemetryProvider,
  type MeshConfig_ExtensionProvider_SkyWalkingTracingProvider as SkyWalkingProvider,
  type MeshConfig_ExtensionProvider_ZipkinTracingProvider as ZipkinProvider,
  MeshConfig_ExtensionProvider_ZipkinTracingProvider_TraceContextOption as ProviderContextOption,
} from "@istiod/istio-api/mesh/v1alpha1/config";
import { isSupportedFor, nodeCluster, versionAtLeast } from "@istiod/push-context";
import { packAny } from "../envoy/any.js";
import { duration } from "../envoy/duration.js";
import { type Collector, collector, grpcService, httpService, servedCollector } from "./collector.js";
import { openTelemetryConfig } from "./open-telemetry-config.js";

/** An Envoy tracer for an extension provider. */
interface Tracer {
  readonly name: string;
  readonly config: Any;
  /** 0: the proxy's default. */
  readonly maxTagLength: number;
  readonly startsChildSpan: boolean;
  /** True if the tracer has its own sampler. */
  readonly hasOwnSampler: boolean;
}

/** The tracer of an extension provider; undefined if the provider is not one for tracing, or its service is unknown. */
export function tracerOf(q: QueryContext, { provider }: ExtensionProvider): Tracer | undefined {
  if (!isSupportedFor("tracing", provider)) return undefined;
  switch (provider.case) {
    case "zipkin":
      return zipkinTracer(q, provider.value);
    case "datadog":
      return datadogTracer(q, provider.value);
    case "skywalking":
      return skyWalkingTracer(q, provider.value);
    case "opentelemetry":
      return openTelemetryTracer(q, provider.value);
  }
}

const defaults = { maxTagLength: 0, startsChildSpan: false, hasOwnSampler: false };

function zipkinTracer(q: QueryContext, provider: ZipkinProvider): Tracer | undefined {
  const at = servedCollector(q, provider);
  const { maxTagLength } = provider;
  return at && { ...defaults, name: "envoy.tracers.zipkin", config: zipkinConfig(q, provider, at), maxTagLength };
}

function datadogTracer(q: QueryContext, provider: DatadogProvider): Tracer | undefined {
  const at = servedCollector(q, provider);
  if (at === undefined) return undefined;
  const config = packAny(DatadogConfigSchema, {
    collectorCluster: at.cluster,
    collectorHostname: at.hostname,
    serviceName: q.ask(nodeCluster),
  });
  return { ...defaults, name: "envoy.tracers.datadog", config, maxTagLength: provider.maxTagLength };
}

function skyWalkingTracer(q: QueryContext, provider: SkyWalkingProvider): Tracer | undefined {
  const at = collector(q, provider);
  if (at === undefined) return undefined;
  const config = packAny(SkyWalkingConfigSchema, { grpcService: grpcService(at) });
  return { ...defaults, name: "envoy.tracers.skywalking", config, startsChildSpan: true };
}

function openTelemetryTracer(q: QueryContext, provider: OpenTelemetryProvider): Tracer | undefined {
  const at = collector(q, provider);
  const config = at && openTelemetryConfig(q, provider, at);
  if (config === undefined) return undefined;
  const { maxTagLength, sampling } = provider;
  const hasOwnSampler = sampling.case !== undefined;
  return { ...defaults, name: "envoy.tracers.opentelemetry", config, maxTagLength, hasOwnSampler };
}

/** Returns the configuration, without options that older proxies reject. */
function zipkinConfig(q: QueryContext, provider: ZipkinProvider, { hostname, cluster }: Collector): Any {
  const path = provider.path || "/api/v2/spans";
  const asService = q.ask(versionAtLeast, [1, 29]);
  const dual = provider.traceContextOption === ProviderContextOption.USE_B3_WITH_W3C_PROPAGATION;
  return packAny(ZipkinConfigSchema, {
    collectorEndpointVersion: EndpointVersion.HTTP_JSON,
    traceId128bit: !provider.enable64bitTraceId,
    sharedSpanContext: false,
    ...(asService
      ? {
          collectorService: httpService(
            q,
            `http://${hostname}${path}`,
            cluster,
            provider.timeout ?? duration(5000),
            provider.headers,
          ),
        }
      : { collectorCluster: cluster, collectorEndpoint: path, collectorHostname: hostname }),
    ...(dual &&
      q.ask(versionAtLeast, [1, 28]) && { traceContextOption: TraceContextOption.USE_B3_WITH_W3C_PROPAGATION }),
  });
}
