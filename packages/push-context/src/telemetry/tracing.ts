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
import { type ListenerClass, modeOfClass } from "./listener-class.js";

/** How the client traces requests on one side. */
export interface TracingSettings {
  /** Absent: nothing is reported. */
  readonly provider?: ExtensionProvider;
  readonly disabled: boolean;
  /** Percent; absent: the proxy configuration's. */
  readonly randomSamplingPercentage?: number;
  /** Empty: the proxy configuration's. */
  readonly customTags: Readonly<Record<string, CustomTag>>;
  readonly useRequestIdForTraceSampling: boolean;
  readonly enableIstioTags: boolean;
  readonly disableContextPropagation: boolean;
}

/**
 * What Telemetry and the default provider say of tracing; undefined where they say nothing, so that the proxy
 * configuration's own tracer counts. Source: `Tracing` of pilot/pkg/model/telemetry.go.
 */
export const tracingSettings = query("tracingSettings", (q, listener: ListenerClass): TracingSettings | undefined => {
  const { tracing } = q.call(applicableTelemetry);
  const [byDefault] = mesh(q).defaultProviders?.tracing ?? [];
  if (tracing.length === 0 && byDefault === undefined) return undefined;
  const mode = modeOfClass(listener);
  const mine = tracing.filter(
    ({ match }) => match === undefined || match.mode === WorkloadMode.CLIENT_AND_SERVER || match.mode === mode,
  );
  const last = <T>(read: (rule: Tracing) => T | undefined): T | undefined =>
    mine.map(read).findLast((value) => value !== undefined);
  const name = last(({ providers }) => providers[0]?.name) ?? byDefault;
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
