import { telemetries, telemetriesByNamespace, telemetryKind, type TelemetryObject } from "@istiod/config-schema";
import { extensionProvider, isSupportedFor, mesh, type TelemetrySection } from "@istiod/push-context";
import { hasLabels } from "@istiod/service-discovery";
import { type AnalysisContext, type Analyzer, rule } from "../analyzer.js";
import { listNames } from "../suggestions.js";
import { explainMissingPods, formatSelector, selectedPods } from "../queries/pods.js";

/** Analyzers of Telemetry objects. */
export const telemetryAnalyzers: readonly Analyzer[] = [
  {
    name: "telemetry.ProviderAnalyzer",
    description: "Checks that access logging of Telemetry objects has a provider",
    codes: ["IST0157"],
    rules: [rule(telemetryKind, telemetries, checkProviders)],
  },
  {
    name: "telemetry.ProviderKindAnalyzer",
    description: "Checks that Telemetry objects have providers, and for what they are used for",
    codes: ["MESH0042"],
    rules: [rule(telemetryKind, telemetries, checkKinds), rule(telemetryKind, telemetries, checkTracing)],
  },
  {
    name: "telemetry.SelectorAnalyzer",
    description: "Checks that the selectors of Telemetry objects select pods, and not the same ones",
    codes: ["IST0101", "IST0159"],
    rules: [rule(telemetryKind, telemetries, checkSelector)],
  },
  {
    name: "telemetry.DefaultSelectorAnalyzer",
    description: "Checks that a namespace has at most one Telemetry object without a selector",
    codes: ["IST0160"],
    rules: [rule(telemetryKind, telemetries, checkDefault)],
  },
  {
    name: "telemetry.LightstepAnalyzer",
    description: "Finds Telemetry objects that use a Lightstep provider",
    codes: ["IST0002"],
    rules: [rule(telemetryKind, telemetries, checkLightstep)],
  },
];

function checkProviders({ name, namespace, spec }: TelemetryObject, { q, report }: AnalysisContext): void {
  const incomplete = [...spec.accessLogging.entries()].filter(
    ([, { disabled, providers }]) => disabled !== true && providers.length === 0,
  );
  if (incomplete.length === 0 || (mesh(q).defaultProviders?.accessLogging.length ?? 0) > 0) return;
  for (const [i] of incomplete) {
    report(
      "IST0157",
      ["spec", "accessLogging", i],
      `Telemetry ${namespace}/${name} has access logging without a provider, which is ignored because the mesh has no default providers; set providers, or meshConfig.defaultProviders.accessLogging`,
    );
  }
}

const sections = ["metrics", "accessLogging", "tracing"] as const satisfies readonly TelemetrySection[];

/** Reports providers of another kind, which proxies ignore. */
function checkKinds({ spec }: TelemetryObject, { q, report }: AnalysisContext): void {
  for (const section of sections)
    for (const [i, { providers }] of spec[section].entries())
      for (const [j, { name }] of providers.entries()) {
        const provider = q.call(extensionProvider, name)?.provider;
        if (provider?.case === undefined || isSupportedFor(section, provider)) continue;
        const fitting = mesh(q).extensionProviders.filter((each) => isSupportedFor(section, each.provider));
        const known = fitting.length === 0 ? "" : ` (${listNames(fitting.map((each) => each.name))})`;
        report(
          "MESH0042",
          ["spec", section, i, "providers", j, "name"],
          `provider ${JSON.stringify(name)} is ignored: it is of kind ${provider.case}, which is not supported for ${section}; name one for it${known}`,
        );
      }
}

/** Reports tracing without a provider, if neither the mesh nor its proxies' configuration has one. */
function checkTracing({ spec }: TelemetryObject, { q, report }: AnalysisContext): void {
  const { defaultProviders, defaultConfig } = mesh(q);
  if ((defaultProviders?.tracing.length ?? 0) > 0 || defaultConfig?.tracing?.tracer.case !== undefined) return;
  for (const [i, { providers, disableSpanReporting }] of spec.tracing.entries())
    if (providers.length === 0 && disableSpanReporting !== true)
      report(
        "MESH0042",
        ["spec", "tracing", i],
        "has no effect where no other Telemetry names a provider: it names none, and the mesh has no default; set providers, or meshConfig.defaultProviders.tracing",
        "Info",
      );
}

type Labels = Readonly<Record<string, string>>;

/** Returns the labels that a Telemetry object selects; undefined if it selects by no label. */
function selectorOf({ spec }: TelemetryObject): Labels | undefined {
  const labels = spec.selector?.matchLabels;
  return labels === undefined || Object.keys(labels).length === 0 ? undefined : labels;
}

function checkSelector(telemetry: TelemetryObject, { q, report }: AnalysisContext): void {
  const labels = selectorOf(telemetry);
  if (labels === undefined) return;
  const { namespace, name } = telemetry;
  const path = ["spec", "selector", "matchLabels"];
  const selected = q.call(selectedPods, { namespace, labels });
  if (selected.length === 0) {
    report(
      "IST0101",
      path,
      `referenced selector not found: ${formatSelector(labels)} selects no pod, so that the object has no effect: ${explainMissingPods(q, { namespace, labels })}`,
    );
  }
  const conflicting = q.read(telemetriesByNamespace, namespace).filter((other) => {
    const others = other.name === name ? undefined : selectorOf(other);
    return others !== undefined && selected.some((pod) => hasLabels(pod.labels, others));
  });
  if (conflicting.length === 0) return;
  report(
    "IST0159",
    path,
    `the selector conflicts with Telemetry ${listNames(conflicting.map((other) => other.name))} in namespace ${namespace}: they select the same pods, for which only one of them counts; make their selectors exclude each other`,
  );
}

function checkDefault({ namespace, name, spec }: TelemetryObject, { q, report }: AnalysisContext): void {
  if (spec.selector !== undefined) return;
  const others = q
    .read(telemetriesByNamespace, namespace)
    .filter((other) => other.name !== name && other.spec.selector === undefined);
  if (others.length === 0) return;
  report(
    "IST0160",
    ["metadata", "name"],
    `namespace ${namespace} has multiple Telemetry objects without a workload selector: also ${listNames(others.map((other) => other.name))}, and only one of them counts; merge them, or add selectors`,
  );
}

function checkLightstep({ spec }: TelemetryObject, { q, report }: AnalysisContext): void {
  if (spec.tracing.length === 0) return;
  const lightstep = new Set(
    mesh(q)
      .extensionProviders.filter(({ provider }) => provider.case === "lightstep")
      .map(({ name }) => name),
  );
  for (const [i, { providers }] of spec.tracing.entries()) {
    for (const [j, { name }] of providers.entries()) {
      if (!lightstep.has(name)) continue;
      report(
        "IST0002",
        ["spec", "tracing", i, "providers", j],
        `the Lightstep provider ${name} is deprecated; migrate to an OpenTelemetry provider`,
      );
    }
  }
}
