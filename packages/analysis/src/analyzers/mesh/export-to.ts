import {
  type ConfigObject,
  destinationRuleKind,
  destinationRules,
  type FieldPath,
  gatewayName,
  gateways,
  serviceEntries,
  serviceEntryKind,
  serviceKind,
  services,
  virtualServiceKind,
  type VirtualServiceObject,
  virtualServices,
} from "@istiod/config-schema";
import { exportScope, isExportedTo } from "@istiod/push-context";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { faultOfNamespace } from "../../queries/namespaces.js";
import { workloadsWith } from "../../queries/workloads.js";

export const exportAnalyzer: Analyzer = {
  name: "mesh.ExportAnalyzer",
  description: "Checks that exportTo names namespaces that exist and does not hide objects from where they are used",
  codes: ["MESH0004", "MESH0016"],
  rules: [
    rule(virtualServiceKind, virtualServices, (object, context) => {
      checkTargets(object.spec.exportTo, (i) => ["spec", "exportTo", i], context);
      checkGateways(object, context);
    }),
    rule(destinationRuleKind, destinationRules, ({ spec }, context) =>
      checkTargets(spec.exportTo, (i) => ["spec", "exportTo", i], context),
    ),
    rule(serviceEntryKind, serviceEntries, ({ spec }, context) =>
      checkTargets(spec.exportTo, (i) => ["spec", "exportTo", i], context),
    ),
    rule(serviceKind, services, checkService),
  ],
};

const annotation = "networking.istio.io/exportTo";

function checkService({ annotations }: ConfigObject<unknown, unknown>, context: AnalysisContext): void {
  const targets = (annotations[annotation] ?? "").split(",").map((target) => target.trim());
  checkTargets(targets, () => ["metadata", "annotations", annotation], context);
}

function checkTargets(
  exportTo: readonly string[],
  pathOf: (index: number) => FieldPath,
  { q, report }: AnalysisContext,
): void {
  for (const [i, target] of exportTo.entries()) {
    if (["", "*", ".", "~"].includes(target)) continue;
    const fault = faultOfNamespace(q, target);
    if (fault !== undefined) report("MESH0004", pathOf(i), fault);
  }
}

/** Reports gateways to whose proxies' namespace the VirtualService is not exported. */
function checkGateways({ namespace, spec }: VirtualServiceObject, { q, report }: AnalysisContext): void {
  if (spec.exportTo.length === 0) return;
  const scope = exportScope(spec.exportTo, namespace);
  for (const [i, named] of spec.gateways.entries()) {
    const gateway = named === "mesh" ? undefined : q.read(gateways, gatewayName(named, namespace));
    if (gateway === undefined) continue;
    const places = [gateway.namespace, "istio-system", "istio-ingress"].filter(
      (place, at, all) => all.indexOf(place) === at,
    );
    const proxies = places.flatMap((place) => workloadsWith(q, place, gateway.spec.selector));
    if (proxies.length === 0 || proxies.some((proxy) => isExportedTo(scope, proxy.namespace))) continue;
    report(
      "MESH0016",
      ["spec", "gateways", i],
      `the proxies of Gateway ${gateway.namespace}/${gateway.name} are in namespace ${proxies[0]?.namespace}, to which exportTo does not export the VirtualService, so that it has no effect there`,
    );
  }
}
