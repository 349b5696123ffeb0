import { virtualServiceKind, type VirtualServiceObject, virtualServices } from "@istiod/config-schema";
import { meshGateway } from "@istiod/push-context";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { namespacesWithSidecars, sidecarsWith } from "../../queries/clients.js";
import { formatSelector } from "../../queries/pods.js";
import { listNames } from "../../suggestions.js";
import { includesClient, routeSources } from "../virtual-service/sources.js";

export const sourceAnalyzer: Analyzer = {
  name: "mesh.SourceAnalyzer",
  description: "Finds VirtualServices of which some sidecars get no route, because every match is for other sources",
  codes: ["MESH0026"],
  rules: [rule(virtualServiceKind, virtualServices, checkSources)],
};

/** Reports a VirtualService all of whose matches are for sources with labels or of namespaces that some lack. */
function checkSources({ namespace, name, spec }: VirtualServiceObject, { q, report }: AnalysisContext): void {
  if (spec.hosts.length === 0 || (spec.gateways.length > 0 && !spec.gateways.includes(meshGateway))) return;
  for (const kind of ["http", "tls", "tcp"] as const) {
    const sources = spec[kind].flatMap((_, i) => routeSources(spec, ["spec", kind, i], namespace));
    const ofSidecars = sources.filter(({ gateways }) => gateways.length === 0 || gateways.includes(meshGateway));
    const isLimited = ofSidecars.every((source) => source.namespace !== "" || Object.keys(source.labels).length > 0);
    if (ofSidecars.length === 0 || !isLimited) continue;
    const others = q
      .call(namespacesWithSidecars)
      .filter((of) =>
        sidecarsWith(q, `${namespace}/${name}`, of).some(
          (labels) => !ofSidecars.some((source) => includesClient(source, { namespace: of, labels })),
        ),
      );
    if (others.length === 0) continue;
    const conditions = ofSidecars.map((source) =>
      [
        ...(source.namespace === "" ? [] : [`of namespace ${source.namespace}`]),
        ...(Object.keys(source.labels).length === 0 ? [] : [`with the labels ${formatSelector(source.labels)}`]),
      ].join(" "),
    );
    report(
      "MESH0026",
      ["spec", kind],
      `every route is for sources ${listNames([...new Set(conditions)])}: other sidecars (of namespace ${listNames(others)}) take the default route of ${listNames(spec.hosts)}, as if there were no VirtualService; add a route without sourceLabels and sourceNamespace if they should not`,
    );
  }
}
