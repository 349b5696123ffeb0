import { allKinds, type ConfigObject } from "@istiod/config-schema";
import type { Collection } from "@istiod/incremental";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { faultOfNamespace } from "../../queries/namespaces.js";

/** The checked kinds: all namespaced kinds except those that Kubernetes creates itself. */
const checked = allKinds.filter(
  ({ scope, kind }) => scope === "namespaced" && kind !== "EndpointSlice" && kind !== "Pod",
);

export const namespaceAnalyzer: Analyzer = {
  name: "mesh.NamespaceAnalyzer",
  description: "Checks that the namespaces of objects exist, if the configuration contains Namespaces",
  codes: ["MESH0004"],
  rules: checked.map((kind) =>
    rule(kind, kind.collection as Collection<ConfigObject<unknown, unknown>>, checkNamespace),
  ),
};

function checkNamespace({ namespace }: ConfigObject<unknown, unknown>, { q, report }: AnalysisContext): void {
  const fault = faultOfNamespace(q, namespace);
  if (fault !== undefined) report("MESH0004", ["metadata", "namespace"], fault);
}
