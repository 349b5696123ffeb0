import {
  type MetricSelector,
  MetricSelector_IstioMetric as Metric,
  type MetricsOverrides,
  WorkloadMode,
} from "@istiod/istio-api/telemetry/v1alpha1/telemetry";
import type { Place } from "../../validation/place.js";

/** A value that an override sets for metrics of one mode. */
interface Setting {
  readonly value: string;
  /** Index of the override. */
  readonly at: number;
}

/**
 * Warns of what a later override contradicts: the last one applies. One that disables all metrics applies only if no
 * other one of the mode follows, which enables them again, whatever it is for. Source: `mergeMetrics` in
 * pilot/pkg/model/telemetry.go.
 */
export function checkOverriddenOverrides(overrides: readonly MetricsOverrides[], place: Place): void {
  const later = new Map<string, Setting>();
  const enabling = new Map<WorkloadMode, number>();
  for (const [at, override] of [...overrides.entries()].reverse()) {
    const { match, disabled } = override;
    const modes = modesOf(match);
    if (disabled === true && isForAllMetrics(match)) {
      const [first, ...others] = modes.map((mode) => enabling.get(mode));
      if (first !== undefined && !others.includes(undefined))
        place
          .at(at, "disabled")
          .warning(
            `has no effect: overrides[${first}] follows, which enables all metrics again, whichever it is for; disable metrics by their names instead`,
            "no-effect",
          );
      for (const mode of modes)
        if (!enabling.has(mode)) later.set(keyOf(allMetrics, mode, "disabled"), { value: "true", at });
      continue;
    }
    for (const mode of modes) if (!enabling.has(mode)) enabling.set(mode, at);
    const metric = metricOf(match);
    for (const { name, path, value } of settingsOf(override)) {
      const [first, ...others] = modes.map((mode) => lastOf(later, metric, mode, name));
      const isContradicted = [first, ...others].every((setting) => setting !== undefined && setting.value !== value);
      if (first !== undefined && isContradicted)
        place
          .at(at, ...path)
          .warning(
            `has no effect: overrides[${first.at}] sets another value for the same metrics, and the last one applies`,
            "no-effect",
          );
      for (const mode of modes) {
        const key = keyOf(metric, mode, name);
        if (!later.has(key)) later.set(key, { value, at });
      }
    }
  }
}

/** Reports whether an override is for all metrics of Istio. */
export function isForAllMetrics(match: MetricSelector | undefined): boolean {
  const { metricMatch } = match ?? {};
  return metricMatch?.case === undefined || (metricMatch.case === "metric" && metricMatch.value === Metric.ALL_METRICS);
}

const allMetrics = "";

/** Returns a text that is the same for the same metrics. */
function metricOf(match: MetricSelector | undefined): string {
  const { case: kind, value } = match?.metricMatch ?? {};
  if (isForAllMetrics(match)) return allMetrics;
  return kind === "customMetric" ? `custom ${value}` : String(value);
}

function modesOf(match: MetricSelector | undefined): readonly WorkloadMode[] {
  const mode = match?.mode ?? WorkloadMode.CLIENT_AND_SERVER;
  return mode === WorkloadMode.CLIENT_AND_SERVER ? [WorkloadMode.CLIENT, WorkloadMode.SERVER] : [mode];
}

interface NamedSetting {
  readonly name: string;
  readonly path: readonly string[];
  readonly value: string;
}

function settingsOf({ disabled, tagOverrides }: MetricsOverrides): readonly NamedSetting[] {
  const tags = Object.entries(tagOverrides).map(([tag, { operation, value }]) => ({
    name: `tag ${tag}`,
    path: ["tagOverrides", tag],
    value: JSON.stringify([operation, value]),
  }));
  return disabled === undefined ? tags : [{ name: "disabled", path: ["disabled"], value: String(disabled) }, ...tags];
}

function keyOf(metric: string, mode: WorkloadMode, name: string): string {
  return JSON.stringify([metric, mode, name]);
}

/** Returns the last setting of a metric by a later override of it, or of all metrics of Istio. */
function lastOf(
  later: ReadonlyMap<string, Setting>,
  metric: string,
  mode: WorkloadMode,
  name: string,
): Setting | undefined {
  const own = later.get(keyOf(metric, mode, name));
  const all = metric.startsWith("custom ") ? undefined : later.get(keyOf(allMetrics, mode, name));
  return own === undefined || (all !== undefined && all.at > own.at) ? all : own;
}
