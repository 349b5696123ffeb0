import { query } from "@istiod/incremental";
import type { MeshConfig_ExtensionProvider as ExtensionProvider } from "@istiod/istio-api/mesh/v1alpha1/config";
import {
  type Tracing,
  type Tracing_CustomTag as CustomTag,
  WorkloadMode,
} from "@istiod/istio-api/telemetry/v1alpha1/telemetry";
import { mesh } from "../mesh/mesh-config.js";
import { applicableTelemetry } from "./applicable-telemetry.js";
import { extensionProvider } from "./extension-provider.js";
import { type ListenerClass, workloadMode } from "./listener-class.js";

/** Tracing settings on one side of a request. */
export interface TracingSettings {
  /** Absent if no spans are reported. */
  readonly provider?: ExtensionProvider;
  readonly disabled: boolean;
  /** Percent, 0 to 100; absent if ProxyConfig's value applies. */
  readonly randomSamplingPercentage?: number;
  /** Empty if ProxyConfig's tags apply. */
  readonly customTags: Readonly<Record<string, CustomTag>>;
  readonly useRequestIdForTraceSampling: boolean;
  readonly enableIstioTags: boolean;
  readonly disableContextPropagation: boolean;
}

/**
 * Tracing settings of Telemetry objects and the mesh's default provider; undefined if there are none, in which case
 * ProxyConfig's tracer applies. Source: `Tracing` in pilot/pkg/model/telemetry.go.
 */
export const tracingSettings = query("tracingSettings", (q, listener: ListenerClass): TracingSettings | undefined => {
  const { tracing } = q.call(applicableTelemetry);
  const [defaultProvider] = mesh(q).defaultProviders?.tracing ?? [];
  if (tracing.length === 0 && defaultProvider === undefined) return undefined;
  const mode = workloadMode(listener);
  const applicable = tracing.filter(
    ({ match }) => match === undefined || match.mode === WorkloadMode.CLIENT_AND_SERVER || match.mode === mode,
  );
  const last = <T>(read: (rule: Tracing) => T | undefined): T | undefined =>
    applicable.map(read).findLast((value) => value !== undefined);
  const name = last(({ providers }) => providers[0]?.name) ?? defaultProvider;
  const provider = name === undefined ? undefined : q.call(extensionProvider, name);
  const randomSamplingPercentage = last((rule) => rule.randomSamplingPercentage);
  return {
    ...(provider && { provider }),
    disabled: provider === undefined || (last((rule) => rule.disableSpanReporting) ?? false),
    ...(randomSamplingPercentage !== undefined && { randomSamplingPercentage }),
    customTags: last(({ customTags }) => (Object.keys(customTags).length > 0 ? customTags : undefined)) ?? {},
    useRequestIdForTraceSampling: last((rule) => rule.useRequestIdForTraceSampling) ?? true,
    enableIstioTags: last((rule) => rule.enableIstioTags) ?? true,
    disableContextPropagation: last((rule) => rule.disableContextPropagation) ?? false,
  };
});
