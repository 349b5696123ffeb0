import { namespaceKind, type NamespaceObject, namespaces } from "@istiod/config-schema";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { didYouMean } from "../../queries/namespaces.js";

const label = "istio-injection";
const values = ["enabled", "disabled"];

export const injectionLabelAnalyzer: Analyzer = {
  name: "mesh.InjectionLabelAnalyzer",
  description: "Checks that the injection labels of namespaces have values with a meaning",
  codes: ["MESH0018"],
  rules: [rule(namespaceKind, namespaces, checkLabel)],
};

function checkLabel({ labels }: NamespaceObject, { report }: AnalysisContext): void {
  const value = labels[label];
  if (value === undefined || values.includes(value)) return;
  report(
    "MESH0018",
    ["metadata", "labels", label],
    `label ${label}=${value} neither enables nor disables injection; expected enabled or disabled${didYouMean(value, values)}`,
  );
}
