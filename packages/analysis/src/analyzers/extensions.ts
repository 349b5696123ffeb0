import {
  type ConfigObject,
  type FieldPath,
  proxyConfigKind,
  type ProxyConfigObject,
  proxyConfigs,
  trafficExtensionKind,
  type TrafficExtensionObject,
  trafficExtensions,
  wasmPluginKind,
  wasmPlugins,
} from "@istiod/config-schema";
import { index } from "@istiod/incremental";
import { WorkloadMode } from "@istiod/istio-api/type/v1beta1/selector";
import { agentVariables, nearestNames } from "@istiod/settings";
import { type AnalysisContext, type Analyzer, meshConfigRule, rule } from "../analyzer.js";
import { formatSelector } from "../queries/pods.js";
import { quotedNearest } from "../suggestions.js";
import { missingPort, workloadPorts } from "../queries/workload-ports.js";

/** Analyzers of what extends proxies. */
export const extensionAnalyzers: readonly Analyzer[] = [
  {
    name: "extension.PortAnalyzer",
    description: "Checks that the workloads of extensions have the ports that these match",
    codes: ["MESH0041"],
    rules: [rule(wasmPluginKind, wasmPlugins, checkPorts), rule(trafficExtensionKind, trafficExtensions, checkPorts)],
  },
  {
    name: "extension.LuaAnalyzer",
    description: "Checks that code in Lua has a function that proxies call",
    codes: ["MESH0042"],
    rules: [rule(trafficExtensionKind, trafficExtensions, checkLua)],
  },
  {
    name: "proxyconfig.ValueAnalyzer",
    description: "Checks for misspelled variables and images in ProxyConfigs and the mesh configuration",
    codes: ["MESH0042"],
    rules: [
      rule(proxyConfigKind, proxyConfigs, ({ spec }, context) => {
        checkVariables(Object.keys(spec.environmentVariables), ["spec", "environmentVariables"], context);
        checkImage(spec.image?.imageType ?? "", ["spec", "image", "imageType"], context);
      }),
      rule(proxyConfigKind, proxyConfigs, checkOlder),
      meshConfigRule(({ defaultConfig }, context) => {
        const path = ["defaultConfig"];
        checkVariables(Object.keys(defaultConfig?.proxyMetadata ?? {}), [...path, "proxyMetadata"], context);
        checkImage(defaultConfig?.image?.imageType ?? "", [...path, "image", "imageType"], context);
      }),
    ],
  },
];

interface Extension {
  readonly selector?: { readonly matchLabels: Readonly<Record<string, string>> } | undefined;
  readonly match: readonly { readonly mode: WorkloadMode; readonly ports: readonly { readonly number: number }[] }[];
}

function checkPorts({ namespace, spec }: ConfigObject<Extension, unknown>, { q, report }: AnalysisContext): void {
  const labels = spec.selector?.matchLabels;
  if (labels === undefined || Object.keys(labels).length === 0) return;
  const ports = q.call(workloadPorts, { namespace, labels });
  if (ports === undefined) return;
  for (const [i, match] of spec.match.entries()) {
    // Ports of clients are those of other workloads.
    if (match.mode !== WorkloadMode.SERVER) continue;
    for (const [j, { number }] of match.ports.entries()) {
      const missing = missingPort(ports, number);
      if (missing !== undefined)
        report(
          "MESH0041",
          ["spec", "match", i, "ports", j, "number"],
          `is ${number}, which the selected workloads do not have: ${missing.hint}`,
        );
    }
  }
}

/** Functions of a filter that proxies call. */
const called = ["envoy_on_request", "envoy_on_response"];

function checkLua({ spec }: TrafficExtensionObject, { report }: AnalysisContext): void {
  if (spec.filterConfig.case !== "lua") return;
  const code = spec.filterConfig.value.inlineCode;
  if (called.some((name) => code.includes(name))) return;
  const names = [...code.matchAll(/function\s+([A-Za-z_]\w*)/g)].flatMap(([, name = ""]) => name);
  const near = names.flatMap((name) => nearestNames(name, called));
  report(
    "MESH0042",
    ["spec", "lua", "inlineCode"],
    `has no effect: proxies call the functions ${called.join(" and ")} only${quotedNearest(near.slice(0, 1))}`,
  );
}

function checkVariables(names: readonly string[], path: FieldPath, { report }: AnalysisContext): void {
  for (const name of names) {
    if (agentVariables.includes(name)) continue;
    const near = nearestNames(name, agentVariables, 1);
    if (near.length > 0)
      report("MESH0042", [...path, name], `is read by no agent and by no template of Istio${quotedNearest(near)}`);
  }
}

const imageTypes = ["default", "debug", "distroless"];

function checkImage(type: string, path: FieldPath, { report }: AnalysisContext): void {
  const near = type === "" || imageTypes.includes(type) ? [] : nearestNames(type, imageTypes, 1);
  if (near.length > 0)
    report(
      "MESH0042",
      path,
      `is ${JSON.stringify(type)}, the end of an image's tag that Istio does not publish${quotedNearest(near)}`,
    );
}

const bySelector = index(proxyConfigs, "byNamespaceAndSelector", ({ namespace, spec }) => [
  `${namespace}/${formatSelector(spec.selector?.matchLabels ?? {})}`,
]);

/** Reports a ProxyConfig that never applies: of those that select a workload, the oldest one applies. */
function checkOlder({ namespace, name, spec }: ProxyConfigObject, { q, report }: AnalysisContext): void {
  const selector = formatSelector(spec.selector?.matchLabels ?? {});
  const [oldest] = [...q.read(bySelector, `${namespace}/${selector}`)].sort(
    (a, b) => a.creationTimestamp - b.creationTimestamp || (a.name < b.name ? -1 : 1),
  );
  if (oldest === undefined || oldest.name === name) return;
  report(
    "MESH0042",
    ["spec"],
    `the object has no effect: of the ProxyConfigs of namespace ${namespace} ${selector === "" ? "without a selector" : `for ${selector}`}, only the oldest applies, ${oldest.name}; merge the two`,
  );
}
