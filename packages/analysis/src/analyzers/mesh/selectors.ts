import {
  destinationRuleKind,
  destinationRules,
  endpointSlicesByService,
  type FieldPath,
  peerAuthenticationKind,
  peerAuthentications,
  requestAuthenticationKind,
  requestAuthentications,
  serviceEntries,
  serviceEntryKind,
  serviceKind,
  type ServiceObject,
  services,
} from "@istiod/config-schema";
import { rootNamespace } from "@istiod/push-context";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { isControlPlane, isManagedGateway } from "../../queries/objects.js";
import { hasWorkload, hasWorkloadAnywhere, describesWorkloads } from "../../queries/workloads.js";

type Labels = Readonly<Record<string, string>>;

/** Reports nothing if there are no workloads at all: files often contain configuration only. */
export const selectorAnalyzer: Analyzer = {
  name: "mesh.SelectorAnalyzer",
  description: "Checks that selectors match workloads, if the configuration contains workloads",
  codes: ["MESH0009", "MESH0010"],
  rules: [
    rule(serviceKind, services, checkService),
    rule(peerAuthenticationKind, peerAuthentications, ({ namespace, spec }, context) =>
      checkSelector(namespace, spec.selector?.matchLabels, ["spec", "selector", "matchLabels"], context),
    ),
    rule(requestAuthenticationKind, requestAuthentications, ({ namespace, spec }, context) =>
      checkSelector(namespace, spec.selector?.matchLabels, ["spec", "selector", "matchLabels"], context),
    ),
    rule(serviceEntryKind, serviceEntries, ({ namespace, spec }, context) =>
      checkSelector(namespace, spec.workloadSelector?.labels, ["spec", "workloadSelector", "labels"], context),
    ),
    rule(destinationRuleKind, destinationRules, ({ namespace, spec }, context) =>
      checkSelector(
        namespace,
        spec.workloadSelector?.matchLabels,
        ["spec", "workloadSelector", "matchLabels"],
        context,
      ),
    ),
  ],
};

function checkSelector(
  namespace: string,
  labels: Labels | undefined,
  path: FieldPath,
  { q, report }: AnalysisContext,
): void {
  if (labels === undefined || Object.keys(labels).length === 0 || !q.call(describesWorkloads)) return;
  const everywhere = namespace === rootNamespace(q);
  if (everywhere ? q.call(hasWorkloadAnywhere, labels) : q.call(hasWorkload, { namespace, labels })) return;
  report(
    "MESH0010",
    path,
    `selector ${formatLabels(labels)} matches no workload${everywhere ? "" : ` of namespace ${namespace}`}, so the object has no effect`,
  );
}

function checkService(service: ServiceObject, { q, report }: AnalysisContext): void {
  const { cluster, namespace, name, spec } = service;
  if (
    spec.selector === undefined ||
    spec.type === "ExternalName" ||
    isControlPlane(service) ||
    isManagedGateway(service)
  )
    return;
  if (!q.call(describesWorkloads) || q.call(hasWorkload, { namespace, labels: spec.selector })) return;
  if (
    q
      .read(endpointSlicesByService, `${cluster}/${namespace}/${name}`)
      .some(({ spec: slice }) => slice.endpoints.length > 0)
  )
    return;
  report(
    "MESH0009",
    ["spec", "selector"],
    `selector ${formatLabels(spec.selector)} matches no workload of namespace ${namespace}, so the service has no endpoints and requests to it fail`,
  );
}

function formatLabels(labels: Labels): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
}
