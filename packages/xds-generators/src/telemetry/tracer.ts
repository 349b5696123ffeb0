import { create } from "@bufbuild/protobuf";
import type { Any, Duration } from "@bufbuild/protobuf/wkt";
import { environment } from "@istiod/config-ingestion";
import { HeaderValueOption_HeaderAppendAction as AppendAction } from "@istiod/envoy-api/envoy/config/core/v3/base";
import {
  type TypedExtensionConfig,
  TypedExtensionConfigSchema,
} from "@istiod/envoy-api/envoy/config/core/v3/extension";
import { type HttpService, HttpServiceSchema } from "@istiod/envoy-api/envoy/config/core/v3/http_service";
import { DatadogConfigSchema } from "@istiod/envoy-api/envoy/config/trace/v3/datadog";
import { OpenTelemetryConfigSchema } from "@istiod/envoy-api/envoy/config/trace/v3/opentelemetry";
import { SkyWalkingConfigSchema } from "@istiod/envoy-api/envoy/config/trace/v3/skywalking";
import {
  ZipkinConfig_CollectorEndpointVersion as EndpointVersion,
  ZipkinConfig_TraceContextOption as TraceContextOption,
  ZipkinConfigSchema,
} from "@istiod/envoy-api/envoy/config/trace/v3/zipkin";
import { DynatraceResourceDetectorConfigSchema } from "@istiod/envoy-api/envoy/extensions/tracers/opentelemetry/resource_detectors/v3/dynatrace_resource_detector";
import { EnvironmentResourceDetectorConfigSchema } from "@istiod/envoy-api/envoy/extensions/tracers/opentelemetry/resource_detectors/v3/environment_resource_detector";
import { DynatraceSamplerConfigSchema } from "@istiod/envoy-api/envoy/extensions/tracers/opentelemetry/samplers/v3/dynatrace_sampler";
import type { QueryContext } from "@istiod/incremental";
import {
  type MeshConfig_ExtensionProvider as ExtensionProvider,
  type MeshConfig_ExtensionProvider_HttpHeader as ProviderHeader,
  type MeshConfig_ExtensionProvider_HttpService as ProviderHttp,
  type MeshConfig_ExtensionProvider_OpenTelemetryTracingProvider as OpenTelemetryProvider,
  MeshConfig_ExtensionProvider_ServiceAttributeEnrichment as Enrichment,
  MeshConfig_ExtensionProvider_ZipkinTracingProvider_TraceContextOption as ProviderContextOption,
  type MeshConfig_ExtensionProvider_ZipkinTracingProvider as ZipkinProvider,
} from "@istiod/istio-api/mesh/v1alpha1/config";
import {
  askMetadata,
  label,
  nodeCluster,
  providerAddress,
  proxyId,
  rawMetadata,
  versionAtLeast,
} from "@istiod/push-context";
import { packAny } from "../envoy/any.js";
import { duration } from "../envoy/duration.js";
import { outboundClusterName } from "../resource-names.js";

/** A tracer of Envoy's, set up for an extension provider. */
export interface Tracer {
  readonly name: string;
  readonly config: Any;
  /** 0 leaves it to the proxy. */
  readonly maxTagLength: number;
  readonly startsChildSpan: boolean;
  /** Whether the tracer decides itself which requests it samples. */
  readonly hasOwnSampler: boolean;
}

interface Collector {
  readonly hostname: string;
  readonly cluster: string;
}

/** The tracer of a provider; undefined where it is none, or its service is unknown. */
export function tracerOf(q: QueryContext, { provider }: ExtensionProvider): Tracer | undefined {
  const plain = { maxTagLength: 0, startsChildSpan: false, hasOwnSampler: false };
  switch (provider.case) {
    case "zipkin": {
      const at = collector(q, provider.value);
      return (
        at && {
          ...plain,
          name: "envoy.tracers.zipkin",
          config: zipkin(q, provider.value, at),
          maxTagLength: provider.value.maxTagLength,
        }
      );
    }
    case "datadog": {
      const at = collector(q, provider.value);
      const config =
        at &&
        packAny(DatadogConfigSchema, {
          collectorCluster: at.cluster,
          collectorHostname: at.hostname,
          serviceName: q.ask(nodeCluster),
        });
      return config && { ...plain, name: "envoy.tracers.datadog", config, maxTagLength: provider.value.maxTagLength };
    }
    case "skywalking": {
      const at = collector(q, provider.value);
      return (
        at && {
          ...plain,
          name: "envoy.tracers.skywalking",
          config: packAny(SkyWalkingConfigSchema, { grpcService: grpcService(at) }),
          startsChildSpan: true,
        }
      );
    }
    case "opentelemetry": {
      const at = collector(q, provider.value);
      const config = at && openTelemetry(q, provider.value, at);
      const hasOwnSampler = provider.value.sampling.case !== undefined;
      return (
        config && {
          ...plain,
          name: "envoy.tracers.opentelemetry",
          config,
          maxTagLength: provider.value.maxTagLength,
          hasOwnSampler,
        }
      );
    }
    default:
      return undefined;
  }
}

function collector(
  q: QueryContext,
  { service, port }: { readonly service: string; readonly port: number },
): Collector | undefined {
  const at = q.call(providerAddress, { service, port });
  return at && { hostname: at.hostname, cluster: outboundClusterName(at.hostname, at.port) };
}

/** Options that older proxies would refuse are left out for them. */
function zipkin(q: QueryContext, provider: ZipkinProvider, { hostname, cluster }: Collector): Any {
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

function openTelemetry(q: QueryContext, provider: OpenTelemetryProvider, at: Collector): Any | undefined {
  const semantic = provider.serviceAttributeEnrichment === Enrichment.OTEL_SEMANTIC_CONVENTIONS;
  const { http, grpc, resourceDetectors: detectors } = provider;
  const sampler = provider.sampling.case === undefined ? undefined : dynatraceSampler(q, provider, at);
  if (provider.sampling.case !== undefined && sampler === undefined) return undefined;
  return packAny(OpenTelemetryConfigSchema, {
    serviceName: semantic ? semanticServiceName(q) : q.ask(nodeCluster),
    ...(http
      ? { httpService: httpService(q, joinUrl(at.hostname, http.path), at.cluster, http.timeout, http.headers) }
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

/** The sampler asks the API of Dynatrace: its own service if it names one, else the one that spans go to. */
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

function httpService(
  q: QueryContext,
  uri: string,
  cluster: string,
  timeout: Duration | undefined,
  headers: readonly ProviderHeader[],
): HttpService {
  return create(HttpServiceSchema, {
    httpUri: { uri, httpUpstreamType: { case: "cluster", value: cluster }, ...(timeout && { timeout }) },
    requestHeadersToAdd: headers.map((header) => ({
      appendAction: AppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
      header: { key: header.name, value: headerValue(q, header) },
    })),
  });
}

/** A value as it is written, or one of istiod's environment variables. */
function headerValue(q: QueryContext, { headerValue: value }: ProviderHeader): string {
  if (value.case === "value") return value.value;
  return value.case === "envName" ? (q.read(environment, value.value) ?? "") : "";
}

function grpcService({ hostname, cluster }: Collector) {
  return { targetSpecifier: { case: "envoyGrpc" as const, value: { clusterName: cluster, authority: hostname } } };
}

function extension(name: string, typedConfig: Any): TypedExtensionConfig {
  return create(TypedExtensionConfigSchema, { name, typedConfig });
}

function joinUrl(hostname: string, path: string): string {
  const segments = path.split("/").filter((segment) => segment !== "");
  return [hostname, ...segments].join("/") + (path.endsWith("/") && segments.length > 0 ? "/" : "");
}

/** `service.name` as OpenTelemetry's conventions for Kubernetes have it. */
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

/** Of an id `name.namespace`; empty for one of another form. */
function podName(id: string): string {
  return id.slice(0, Math.max(0, id.indexOf(".")));
}
