import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  HttpConnectionManager_TracingSchema as TracingSchema,
  HttpConnectionManagerSchema,
  RequestIDExtensionSchema,
} from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { UuidRequestIdConfigSchema } from "@istiod/envoy-api/envoy/extensions/request_id/uuid/v3/uuid";
import { query, type QueryContext } from "@istiod/incremental";
import type { Tracing as ProxyTracing } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { encodeMessageField, joinEncoded } from "@istiod/protobuf-wire";
import {
  features,
  type ListenerClass,
  mesh,
  proxyConfig,
  proxyType,
  type TracingSettings,
  tracingSettings,
  versionAtLeast,
} from "@istiod/push-context";
import { packAny } from "../envoy/any.js";
import { istioTags, proxyConfigTags, telemetryTags, type TraceTag } from "./trace-tags.js";
import { tracerOf } from "./tracer.js";

/** The tracing configuration without tags that name the workload, shared between workloads. */
interface CommonTracing {
  /** Encoded settings; absent: no tracing. */
  readonly settings?: Uint8Array;
  readonly tags: readonly TraceTag[];
  /** True if spans have tags that identify the workload. */
  readonly hasWorkloadTags: boolean;
  /** True if sampling depends on the request id. */
  readonly samplesByRequestId: boolean;
}

/** The tracing part of an HTTP connection manager, encoded. Tags are sorted by name. */
export const encodedTracing = query("encodedTracing", (q, listener: ListenerClass): Uint8Array => {
  const { settings, tags, hasWorkloadTags, samplesByRequestId } = q.call(commonTracing, listener);
  const requestIds = samplesByRequestId ? withRequestIdSampling : withoutRequestIdSampling;
  if (settings === undefined) return requestIds;
  const all = hasWorkloadTags ? [...q.call(istioTags), ...tags] : [...tags];
  all.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return joinEncoded([
    requestIds,
    encodeMessageField(HttpConnectionManagerSchema.field.tracing.number, [settings, ...all.map(({ bytes }) => bytes)]),
  ]);
});

const requestIds = (samples: boolean): Uint8Array => {
  const requestIdExtension = create(RequestIDExtensionSchema, {
    typedConfig: packAny(UuidRequestIdConfigSchema, { useRequestIdForTraceSampling: samples }),
  });
  return toBinary(HttpConnectionManagerSchema, create(HttpConnectionManagerSchema, { requestIdExtension }));
};
const withRequestIdSampling = requestIds(true);
const withoutRequestIdSampling = requestIds(false);

/** The tracing configuration of a listener class. Source: pilot/pkg/networking/core/tracing.go. */
const commonTracing = query("commonTracing", (q, listener: ListenerClass): CommonTracing => {
  const settings = q.call(tracingSettings, listener);
  if (settings === undefined) return mesh(q).enableTracing ? bootstrapTracing(q) : untraced;
  const tracing = settings.disabled ? undefined : providerTracing(q, settings);
  return tracing ?? untraced;
});

const untraced: CommonTracing = { tags: [], hasWorkloadTags: false, samplesByRequestId: true };

/** Returns the configuration for the tracer in the bootstrap. */
function bootstrapTracing(q: QueryContext): CommonTracing {
  const own = proxyConfig(q, "tracing");
  return {
    settings: encodeSettings({ ...sampling(samplingPercentage(q, own)), ...maxPathTag(own) }),
    tags: proxyConfigTags(own),
    hasWorkloadTags: own?.enableIstioTags !== false,
    samplesByRequestId: true,
  };
}

function providerTracing(q: QueryContext, settings: TracingSettings): CommonTracing | undefined {
  const tracer = settings.provider && tracerOf(q, settings.provider);
  if (tracer === undefined) return undefined;
  const own = proxyConfig(q, "tracing");
  return {
    settings: encodeSettings({
      ...sampling(tracer.hasOwnSampler ? 100 : (settings.randomSamplingPercentage ?? samplingPercentage(q, own))),
      provider: { name: tracer.name, configType: { case: "typedConfig", value: tracer.config } },
      ...((tracer.startsChildSpan || q.ask(proxyType) === "router") && { spawnUpstreamSpan: true }),
      ...(tracer.maxTagLength === 0 ? maxPathTag(own) : { maxPathTagLength: tracer.maxTagLength }),
      ...(settings.disableContextPropagation && q.ask(versionAtLeast, [1, 30]) && { noContextPropagation: true }),
    }),
    tags: Object.keys(settings.customTags).length > 0 ? telemetryTags(q, settings.customTags) : proxyConfigTags(own),
    hasWorkloadTags: settings.enableIstioTags,
    samplesByRequestId: settings.useRequestIdForTraceSampling,
  };
}

function encodeSettings(settings: MessageInitShape<typeof TracingSchema>): Uint8Array {
  return toBinary(TracingSchema, create(TracingSchema, settings));
}

function sampling(percent: number) {
  return { clientSampling: { value: 100 }, overallSampling: { value: 100 }, randomSampling: { value: percent } };
}

/** Returns the sampling percentage. Values below 0 and above 100 count as a mistake and mean the default, 1. */
function samplingPercentage(q: QueryContext, own: ProxyTracing | undefined): number {
  if (own === undefined || own.sampling === 0) return features.traceSampling(q);
  return own.sampling < 0 || own.sampling > 100 ? 1 : own.sampling;
}

function maxPathTag(own: ProxyTracing | undefined) {
  return own === undefined || own.maxPathTagLength === 0 ? {} : { maxPathTagLength: own.maxPathTagLength };
}
