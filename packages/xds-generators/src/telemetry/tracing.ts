import { create } from "@bufbuild/protobuf";
import { type HttpConnectionManager_Tracing as HcmTracing, HttpConnectionManager_TracingSchema as HcmTracingSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { type QueryContext, query } from "@istiod/incremental";
import type { Tracing as ProxyTracing } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { features, type ListenerClass, mesh, proxyConfig, proxyType, tracingSettings, type TracingSettings, versionAtLeast } from "@istiod/push-context";
import { tracerOf } from "./tracer.js";
import { istioTags, proxyConfigTags, telemetryTags } from "./trace-tags.js";

/** What tracing adds to an HTTP connection manager. */
export interface HttpTracing {
  readonly tracing?: HcmTracing;
  /** Whether the request's id decides whether it is sampled. */
  readonly requestIdSamples: boolean;
}

/** How requests are traced. Source: pilot/pkg/networking/core/tracing.go. */
export const httpTracing = query("httpTracing", (q, listener: ListenerClass): HttpTracing => {
  const settings = q.call(tracingSettings, listener);
  if (settings === undefined) {
    return { requestIdSamples: true, ...(mesh(q).enableTracing && { tracing: bootstrapTracing(q) }) };
  }
  const tracing = settings.disabled ? undefined : providerTracing(q, settings);
  return tracing === undefined ? { requestIdSamples: true } : { tracing, requestIdSamples: settings.useRequestIdForTraceSampling };
});

/** To the tracer that the bootstrap has. */
function bootstrapTracing(q: QueryContext): HcmTracing {
  const own = proxyConfig(q, "tracing");
  const tags = [...(own?.enableIstioTags === false ? [] : istioTags(q)), ...proxyConfigTags(own)];
  return create(HcmTracingSchema, { ...sampling(samplingOf(q, own)), customTags: sorted(tags), ...maxPathTag(own) });
}

function providerTracing(q: QueryContext, settings: TracingSettings): HcmTracing | undefined {
  const tracer = settings.provider && tracerOf(q, settings.provider);
  if (tracer === undefined) return undefined;
  const own = proxyConfig(q, "tracing");
  const named = Object.keys(settings.customTags).length > 0 ? telemetryTags(q, settings.customTags) : proxyConfigTags(own);
  const tags = [...(settings.enableIstioTags ? istioTags(q) : []), ...named];
  return create(HcmTracingSchema, {
    ...sampling(tracer.samples ? 100 : (settings.randomSamplingPercentage ?? samplingOf(q, own))),
    customTags: sorted(tags),
    provider: { name: tracer.name, configType: { case: "typedConfig", value: tracer.config } },
    ...((tracer.startsChildSpan || q.ask(proxyType) === "router") && { spawnUpstreamSpan: true }),
    ...(tracer.maxTagLength === 0 ? maxPathTag(own) : { maxPathTagLength: tracer.maxTagLength }),
    ...(settings.disableContextPropagation && q.ask(versionAtLeast, [1, 30]) && { noContextPropagation: true }),
  });
}

function sampling(percent: number) {
  return { clientSampling: { value: 100 }, overallSampling: { value: 100 }, randomSampling: { value: percent } };
}

/** Percent. More than all is taken for a mistake, and for the default of 1. */
function samplingOf(q: QueryContext, own: ProxyTracing | undefined): number {
  if (own === undefined || own.sampling === 0) return features.traceSampling(q);
  return own.sampling > 100 ? 1 : own.sampling;
}

function maxPathTag(own: ProxyTracing | undefined) {
  return own === undefined || own.maxPathTagLength === 0 ? {} : { maxPathTagLength: own.maxPathTagLength };
}

function sorted<T extends { readonly tag: string }>(tags: readonly T[]): T[] {
  return [...tags].sort((a, b) => (a.tag < b.tag ? -1 : a.tag > b.tag ? 1 : 0));
}
