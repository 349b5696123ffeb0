import { create } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import {
  type TypedExtensionConfig,
  TypedExtensionConfigSchema,
} from "@istiod/envoy-api/envoy/config/core/v3/extension";
import { OpenTelemetryConfigSchema } from "@istiod/envoy-api/envoy/config/trace/v3/opentelemetry";
import { DynatraceResourceDetectorConfigSchema } from "@istiod/envoy-api/envoy/extensions/tracers/opentelemetry/resource_detectors/v3/dynatrace_resource_detector";
import { EnvironmentResourceDetectorConfigSchema } from "@istiod/envoy-api/envoy/extensions/tracers/opentelemetry/resource_detectors/v3/environment_resource_detector";
import { DynatraceSamplerConfigSchema } from "@istiod/envoy-api/envoy/extensions/tracers/opentelemetry/samplers/v3/dynatrace_sampler";
import type { QueryContext } from "@istiod/incremental";
import {
  type MeshConfig_ExtensionProvider_HttpService as ProviderHttp,
  type MeshConfig_ExtensionProvider_OpenTelemetryTracingProvider as OpenTelemetryProvider,
  MeshConfig_ExtensionProvider_ServiceAttributeEnrichment as Enrichment,
} from "@istiod/istio-api/mesh/v1alpha1/config";
import { askMetadata, label, nodeCluster, proxyId, rawMetadata } from "@istiod/push-context";
import { packAny } from "../envoy/any.js";
import { type Collector, collector, grpcService, headerValue, httpService } from "./collector.js";
import { joinUrl } from "./join-url.js";

export function openTelemetryConfig(q: QueryContext, provider: OpenTelemetryProvider, at: Collector): Any | undefined {
  const semantic = provider.serviceAttributeEnrichment === Enrichment.OTEL_SEMANTIC_CONVENTIONS;
  const { http, grpc, resourceDetectors: detectors } = provider;
  const sampler = provider.sampling.case === undefined ? undefined : dynatraceSampler(q, provider, at);
  if (provider.sampling.case !== undefined && sampler === undefined) return undefined;
  const uri = http && joinUrl(at.hostname, http.path);
  if (http && uri === undefined) return undefined;
  return packAny(OpenTelemetryConfigSchema, {
    serviceName: semantic ? semanticServiceName(q) : q.ask(nodeCluster),
    ...(http && uri !== undefined
      ? { httpService: httpService(q, uri, at.cluster, http.timeout, http.headers) }
      : {
          grpcService: {
            ...grpcService(at),
            ...(grpc?.timeout && { timeout: grpc.timeout }),
            initialMetadata: (grpc?.initialMetadata ?? []).map((header) => ({
              key: header.name,
              value: headerValue(q, header),
            })),
          },
        }),
    resourceDetectors: [
      ...(detectors?.environment === undefined ? [] : [environmentDetector]),
      ...(detectors?.dynatrace === undefined ? [] : [dynatraceDetector]),
      ...(semantic && detectors?.environment === undefined ? [environmentDetector] : []),
    ],
    ...(sampler && { sampler }),
  });
}

const environmentDetector = extension(
  "envoy.tracers.opentelemetry.resource_detectors.environment",
  packAny(EnvironmentResourceDetectorConfigSchema),
);

const dynatraceDetector = extension(
  "envoy.tracers.opentelemetry.resource_detectors.dynatrace",
  packAny(DynatraceResourceDetectorConfigSchema),
);

/** Returns the sampler, which queries Dynatrace's API: at its own service if it names one, or else at the collector. */
function dynatraceSampler(
  q: QueryContext,
  provider: OpenTelemetryProvider,
  at: Collector,
): TypedExtensionConfig | undefined {
  if (provider.sampling.case !== "dynatraceSampler") return undefined;
  const { tenant, clusterId, rootSpansPerMinute, httpService: own } = provider.sampling.value;
  const api = own === undefined ? at : collector(q, own);
  const http: ProviderHttp | undefined = own === undefined ? provider.http : own.http;
  if (api === undefined || http === undefined) return undefined;
  const uri = joinUrl(api.hostname, own === undefined ? "api/v2/samplingConfiguration" : http.path);
  if (uri === undefined) return undefined;
  return extension(
    "envoy.tracers.opentelemetry.samplers.dynatrace",
    packAny(DynatraceSamplerConfigSchema, {
      tenant,
      clusterId,
      rootSpansPerMinute,
      httpService: httpService(q, uri, api.cluster, http.timeout, http.headers),
    }),
  );
}

function extension(name: string, typedConfig: Any): TypedExtensionConfig {
  return create(TypedExtensionConfigSchema, { name, typedConfig });
}

/** Returns `service.name` by OpenTelemetry's conventions for Kubernetes. */
function semanticServiceName(q: QueryContext): string {
  const containers = q.ask(rawMetadata, "APP_CONTAINERS") ?? "";
  return (
    askMetadata(q, "ANNOTATIONS")?.["resource.opentelemetry.io/service.name"] ||
    q.ask(label, "app.kubernetes.io/instance") ||
    q.ask(label, "app.kubernetes.io/name") ||
    askMetadata(q, "WORKLOAD_NAME") ||
    podName(q.ask(proxyId)) ||
    (containers.includes(",") ? "" : containers) ||
    "unknown_service"
  );
}

/** Returns the pod of a proxy id, `name.namespace`; empty for any other form. */
function podName(id: string): string {
  return id.slice(0, Math.max(0, id.indexOf(".")));
}
