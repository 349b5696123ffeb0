import { ingresses, matchesLabelSelector, type NamespaceObject, namespaces } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import { features, isServedIngress, rootNamespace } from "@istiod/push-context";
import { misspelledService } from "../../queries/destination-hosts.js";
import {
  type MeshConfig,
  MeshConfig_IngressControllerMode as IngressMode,
} from "@istiod/istio-api/mesh/v1alpha1/config";
import { nearestNames } from "@istiod/settings";
import { type AnalysisContext, type Analyzer, meshConfigRule } from "../../analyzer.js";
import { faultOfNamespace } from "../../queries/namespaces.js";
import { isAnyPod, labelValues } from "../../queries/pods.js";
import { quotedNearest } from "../../suggestions.js";
import { checkHost } from "./hosts.js";

export const meshConfigReferenceAnalyzer: Analyzer = {
  name: "mesh.MeshConfigAnalyzer",
  description: "Checks that the mesh configuration names namespaces and hosts that exist",
  codes: ["IST0101", "MESH0004", "MESH0005", "MESH0010"],
  rules: [
    meshConfigRule(checkNamespaces),
    meshConfigRule(checkServiceSettings),
    meshConfigRule(checkDiscoverySelectors),
    meshConfigRule(checkTracer),
    meshConfigRule(checkIngressGateway),
  ],
};

const exports = ["defaultServiceExportTo", "defaultVirtualServiceExportTo", "defaultDestinationRuleExportTo"] as const;

function checkNamespaces(config: MeshConfig, { q, report }: AnalysisContext): void {
  const root = config.rootNamespace === "" ? undefined : faultOfNamespace(q, config.rootNamespace);
  if (root !== undefined) report("MESH0004", ["rootNamespace"], root);
  for (const field of exports)
    for (const [i, name] of config[field].entries()) {
      const fault = /^[.*~]?$/.test(name) ? undefined : faultOfNamespace(q, name);
      if (fault !== undefined) report("MESH0004", [field, i], fault);
    }
}

function checkServiceSettings({ serviceSettings }: MeshConfig, { q, report }: AnalysisContext): void {
  for (const [i, { hosts }] of serviceSettings.entries())
    for (const [j, host] of hosts.entries())
      if (host.includes("."))
        checkHost(q, host, "", (message) => report("MESH0005", ["serviceSettings", i, "hosts", j], message));
}

/** Reports selectors that select no namespace, so that no object is read. */
function checkDiscoverySelectors({ discoverySelectors }: MeshConfig, { q, report }: AnalysisContext): void {
  const known = q.keys(namespaces).flatMap((key) => q.read(namespaces, key) ?? []);
  if (discoverySelectors.length === 0 || known.length === 0) return;
  const isSelected = ({ labels }: NamespaceObject): boolean =>
    discoverySelectors.some((selector) => matchesLabelSelector(selector, labels));
  if (known.some(isSelected)) {
    const root = known.find(({ name }) => name === rootNamespace(q));
    if (root !== undefined && !isSelected(root))
      report(
        "MESH0010",
        ["discoverySelectors"],
        `do not select the root namespace ${root.name}, so that istiod reads none of its objects, not even those for the whole mesh; add its labels`,
      );
    return;
  }
  report(
    "MESH0010",
    ["discoverySelectors"],
    "select no namespace, so that istiod reads no Service, Pod or object of Istio's kinds; correct the labels, or label the Namespaces",
  );
}

/** Reports a tracer at a Service that does not exist, and has a name similar to one that does. */
function checkTracer({ defaultConfig }: MeshConfig, { q, report }: AnalysisContext): void {
  const tracer = defaultConfig?.tracing?.tracer;
  if (tracer?.case !== "zipkin" && tracer?.case !== "datadog") return;
  const [, name = "", namespace = ""] =
    /^([a-z0-9-]+)\.([a-z0-9-]+)(?:\.svc[^:]*)?:\d+$/.exec(tracer.value.address) ?? [];
  // The files may lack the Services of other installations.
  const misspelled =
    name === "" ? undefined : misspelledService(q, `${name}.${namespace}.svc.${features.domainSuffix(q)}`);
  if (misspelled === undefined) return;
  report(
    "MESH0005",
    ["defaultConfig", "tracing", tracer.case, "address"],
    `there is no Service ${namespace}/${name}, so that no span is collected${quotedNearest(misspelled.near)}`,
  );
}

/** Reports settings of the gateway of Ingresses that name none, and have a name similar to one that exists. */
function checkIngressGateway(config: MeshConfig, { q, report }: AnalysisContext): void {
  const { ingressControllerMode, ingressSelector, ingressService } = config;
  if (ingressControllerMode === IngressMode.OFF) return;
  if (ingressSelector !== "" && !q.call(isAnyPod, { labels: { istio: ingressSelector } })) {
    const near = nearestNames(ingressSelector, q.call(labelValues, "istio"));
    if (near.length > 0)
      report(
        "MESH0010",
        ["ingressSelector"],
        `istio=${ingressSelector} selects no workload, so that no gateway serves Ingresses${quotedNearest(near)}`,
      );
  }
  const ingressNamespace = features.ingressNamespace(q);
  const hostname = `${ingressService}.${ingressNamespace}.svc.${features.domainSuffix(q)}`;
  const misspelled = ingressService === "" ? undefined : misspelledService(q, hostname);
  // Without Ingresses, the default matters to nobody.
  if (misspelled !== undefined && (ingressService !== defaultIngressService || isAnyIngressServed(q)))
    report(
      "IST0101",
      ["ingressService"],
      `referenced Service ${ingressNamespace}/${ingressService} not found, so that statuses of Ingresses have no address${quotedNearest(misspelled.near)}`,
    );
}

const defaultIngressService = "istio-ingressgateway";

function isAnyIngressServed(q: QueryContext): boolean {
  return q.keys(ingresses).some((key) => q.call(isServedIngress, key));
}
