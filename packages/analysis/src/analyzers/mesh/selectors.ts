import { isIP } from "node:net";
import {
  destinationRuleKind,
  destinationRules,
  endpointSlicesByService,
  envoyFilterKind,
  envoyFilters,
  type FieldPath,
  peerAuthenticationKind,
  peerAuthentications,
  proxyConfigKind,
  proxyConfigs,
  requestAuthenticationKind,
  requestAuthentications,
  serviceEntries,
  serviceEntryKind,
  serviceKind,
  type ServiceObject,
  services,
  trafficExtensionKind,
  trafficExtensions,
  wasmPluginKind,
  wasmPlugins,
  workloadEntries,
  workloadEntryKind,
  type WorkloadEntryObject,
} from "@istiod/config-schema";
import { index } from "@istiod/incremental";
import { ServiceEntry_Resolution as Resolution } from "@istiod/istio-api/networking/v1alpha3/service_entry";
import { hasLabels, servicesSelecting } from "@istiod/service-discovery";
import { rootNamespace } from "@istiod/push-context";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { isControlPlane, isManagedGateway } from "../../queries/objects.js";
import { isServed } from "../../served.js";
import { isTemplate } from "../../queries/workload-sources.js";
import { listNames } from "../../suggestions.js";
import { describesWorkloads, hasWorkload, hasWorkloadAnywhere, workloadsWith } from "../../queries/workloads.js";

type Labels = Readonly<Record<string, string>>;

/** Reports nothing if there are no workloads at all: files often contain configuration only. */
export const selectorAnalyzer: Analyzer = {
  name: "mesh.SelectorAnalyzer",
  description: "Checks that selectors match workloads, if the configuration contains workloads",
  codes: ["MESH0009", "MESH0010", "MESH0041"],
  rules: [
    rule(serviceKind, services, checkService),
    rule(peerAuthenticationKind, peerAuthentications, ({ namespace, spec }, context) =>
      checkSelector(namespace, spec.selector?.matchLabels, ["spec", "selector", "matchLabels"], context),
    ),
    rule(requestAuthenticationKind, requestAuthentications, ({ namespace, spec }, context) =>
      checkSelector(namespace, spec.selector?.matchLabels, ["spec", "selector", "matchLabels"], context),
    ),
    rule(wasmPluginKind, wasmPlugins, ({ namespace, spec }, context) =>
      checkSelector(namespace, spec.selector?.matchLabels, ["spec", "selector", "matchLabels"], context),
    ),
    rule(trafficExtensionKind, trafficExtensions, ({ namespace, spec }, context) =>
      checkSelector(namespace, spec.selector?.matchLabels, ["spec", "selector", "matchLabels"], context),
    ),
    rule(proxyConfigKind, proxyConfigs, ({ namespace, spec }, context) =>
      checkSelector(namespace, spec.selector?.matchLabels, ["spec", "selector", "matchLabels"], context),
    ),
    rule(envoyFilterKind, envoyFilters, ({ namespace, spec }, context) =>
      checkSelector(namespace, spec.workloadSelector?.labels, ["spec", "workloadSelector", "labels"], context),
    ),
    rule(workloadEntryKind, workloadEntries, checkWorkloadEntry),
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
  if (!q.call(describesWorkloads)) return;
  const selected = workloadsWith(q, namespace, spec.selector);
  if (selected.length > 0 && !(isServed(q) && selected.every(isTemplate))) return;
  if (
    q
      .read(endpointSlicesByService, `${cluster}/${namespace}/${name}`)
      .some(({ spec: slice }) => slice.endpoints.length > 0)
  )
    return;
  if (selected[0] !== undefined) {
    const { kind, name: creator } = selected[0];
    const message = `the service has no endpoints: its workloads are those that ${kind} ${namespace}/${creator} would create, and nothing creates them from files; add their Pods and EndpointSlices, as \`kubectl get\` prints them`;
    report("MESH0009", ["spec", "selector"], message);
    return;
  }
  report(
    "MESH0009",
    ["spec", "selector"],
    `selector ${formatLabels(spec.selector)} matches no workload of namespace ${namespace}, so the service has no endpoints and requests to it fail`,
  );
}

/** ServiceEntries with a workload selector, by namespace. */
const selectingEntries = index(serviceEntries, "selectingByNamespace", ({ namespace, spec }) =>
  spec.workloadSelector === undefined ? [] : [namespace],
);

/** Reports a name as the address of a workload of a ServiceEntry that resolves none. */
function checkAddress(
  namespace: string,
  labels: Labels,
  address: string,
  { q, report }: Pick<AnalysisContext, "q" | "report">,
): void {
  if (address === "" || isIP(address) !== 0 || address.startsWith("unix://")) return;
  const [entry] = q
    .read(selectingEntries, namespace)
    .filter(({ spec }) => spec.resolution === Resolution.STATIC)
    .filter(({ spec }) => hasLabels(labels, spec.workloadSelector?.labels ?? {}));
  if (entry !== undefined)
    report(
      "MESH0009",
      ["spec", "address"],
      `is ${JSON.stringify(address)}, a name, and cannot be an endpoint of ServiceEntry ${namespace}/${entry.name}, whose resolution STATIC needs IP addresses; write the address, or set resolution DNS`,
    );
}

function checkWorkloadEntry(
  { cluster, namespace, labels, spec }: WorkloadEntryObject,
  { q, report }: AnalysisContext,
): void {
  const own = { ...labels, ...spec.labels };
  checkAddress(namespace, own, spec.address, { q, report });
  const selecting = servicesSelecting(q, cluster, namespace, own);
  const entries = q
    .read(selectingEntries, namespace)
    .filter((entry) => hasLabels(own, entry.spec.workloadSelector?.labels ?? {}));
  if (selecting.length + entries.length > 0) {
    const ports = [
      ...selecting.flatMap((name) => q.read(services, `${cluster}/${namespace}/${name}`)?.spec.ports ?? []),
      ...entries.flatMap((entry) => entry.spec.ports),
    ];
    checkPorts(spec.ports, new Set(ports.flatMap(({ name, targetPort }) => [name, String(targetPort ?? "")])), report);
    return;
  }
  const message = `no Service or ServiceEntry of namespace ${namespace} selects the labels ${formatLabels(own)}, so that no request reaches the workload; correct the labels, or add a ServiceEntry with a workloadSelector`;
  report("MESH0010", ["spec", "labels"], message, "Info");
}

/** Reports ports of a WorkloadEntry by names that no service has for which it is an endpoint. */
function checkPorts(
  ports: Readonly<Record<string, number>>,
  known: ReadonlySet<string>,
  report: AnalysisContext["report"],
): void {
  const names = [...known].filter((each) => !/^[0-9]*$/.test(each)).sort();
  const have = names.length === 0 ? "their ports have no names" : `they have ${listNames(names)}`;
  for (const name of Object.keys(ports))
    if (!known.has(name))
      report(
        "MESH0041",
        ["spec", "ports", name],
        `port ${name} has no effect: no service of the workload has a port of this name: ${have}`,
      );
}

function formatLabels(labels: Labels): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
}
