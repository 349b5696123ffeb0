import type { Duration } from "@bufbuild/protobuf/wkt";
import { query } from "@istiod/incremental";
import {
  type Metrics,
  MetricSelector_IstioMetric as IstioMetric,
  type MetricSelector,
  MetricsOverrides_TagOverride_Operation as TagOperation,
  WorkloadMode,
} from "@istiod/istio-api/telemetry/v1alpha1/telemetry";
import { mesh } from "../mesh/mesh-config.js";
import { applicableTelemetry } from "./applicable-telemetry.js";
import { extensionProvider } from "./extension-provider.js";
import { type ListenerClass, workloadMode } from "./listener-class.js";
import { isSupportedFor } from "./provider-kinds.js";

/** An override of one metric. */
export interface MetricOverride {
  /** Name of an Istio metric (`REQUEST_COUNT`) or of a custom metric. */
  readonly metric: string;
  readonly disabled: boolean;
  /** Tag overrides sorted by name; a tag without a value is removed. */
  readonly tags: readonly { readonly name: string; readonly value?: string }[];
}

/** Settings of Prometheus statistics on one side of a request. */
export interface MetricsSettings {
  readonly overrides: readonly MetricOverride[];
  readonly reportingInterval?: Duration;
}

/**
 * Settings of each Prometheus provider that the client reports to, sorted by the provider's name. Source:
 * `mergeMetrics` in pilot/pkg/model/telemetry.go.
 */
export const metricsSettings = query("metricsSettings", (q, listener: ListenerClass): readonly MetricsSettings[] => {
  const { metrics } = q.call(applicableTelemetry);
  const defaults = mesh(q).defaultProviders?.metrics ?? [];
  const merged = mergeMetrics(metrics, defaults, workloadMode(listener));
  return [...merged]
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .flatMap(([name, settings]) => {
      const provider = q.call(extensionProvider, name)?.provider;
      return settings !== undefined && provider && isSupportedFor("metrics", provider) ? [settings] : [];
    });
});

interface MergedMetrics {
  reportingInterval?: Duration;
  disabled: boolean;
  readonly overrides: Map<string, { disabled: boolean; readonly tags: Map<string, string | undefined> }>;
}

/** Maps providers to settings; undefined if all metrics are disabled. */
function mergeMetrics(
  metrics: readonly Metrics[],
  defaults: readonly string[],
  mode: WorkloadMode,
): ReadonlyMap<string, MetricsSettings | undefined> {
  if (metrics.length === 0) return new Map(defaults.map((name) => [name, { overrides: [] }]));
  const names = metrics.map(({ providers }) => providers.map(({ name }) => name));
  const selected = names.findLast((list) => list.length > 0) ?? defaults;
  const pending = new Map<string, MergedMetrics>();
  let inherited = defaults;
  for (const [index, { overrides, reportingInterval }] of metrics.entries()) {
    const own = names[index] ?? [];
    if (own.length > 0) inherited = own;
    for (const name of inherited) {
      if (!selected.includes(name)) continue;
      const settings: MergedMetrics = pending.get(name) ?? { disabled: false, overrides: new Map() };
      pending.set(name, settings);
      if (reportingInterval !== undefined) settings.reportingInterval = reportingInterval;
      for (const { match, disabled, tagOverrides } of overrides) {
        if (match !== undefined && match.mode !== WorkloadMode.CLIENT_AND_SERVER && match.mode !== mode) continue;
        settings.disabled = disabled === true && isEveryMetric(match);
        if (settings.disabled) continue;
        for (const metric of metricsOf(match)) {
          const override = settings.overrides.get(metric) ?? {
            disabled: false,
            tags: new Map<string, string | undefined>(),
          };
          settings.overrides.set(metric, override);
          if (disabled !== undefined) override.disabled = disabled;
          for (const [tag, { operation, value }] of Object.entries(tagOverrides)) {
            override.tags.set(tag, operation === TagOperation.REMOVE ? undefined : value);
          }
        }
      }
    }
  }
  return new Map([...pending].map(([name, settings]) => [name, settings.disabled ? undefined : toSettings(settings)]));
}

function toSettings({ reportingInterval, overrides }: MergedMetrics): MetricsSettings {
  const byName = <V>(a: readonly [string, V], b: readonly [string, V]): number => (a[0] < b[0] ? -1 : 1);
  return {
    overrides: [...overrides].sort(byName).map(([metric, { disabled, tags }]) => ({
      metric,
      disabled,
      tags: [...tags].sort(byName).map(([name, value]) => (value === undefined ? { name } : { name, value })),
    })),
    ...(reportingInterval && { reportingInterval }),
  };
}

function isEveryMetric(match: MetricSelector | undefined): boolean {
  return (
    match === undefined || match.metricMatch.case === undefined || match.metricMatch.value === IstioMetric.ALL_METRICS
  );
}

const istioMetrics = Object.values(IstioMetric).filter(
  (name): name is string => typeof name === "string" && name !== "ALL_METRICS",
);

function metricsOf(match: MetricSelector | undefined): readonly string[] {
  if (isEveryMetric(match) || match === undefined) return istioMetrics;
  const { metricMatch } = match;
  if (metricMatch.case === "customMetric") return [metricMatch.value];
  return metricMatch.case === "metric" ? [String(IstioMetric[metricMatch.value])] : istioMetrics;
}
