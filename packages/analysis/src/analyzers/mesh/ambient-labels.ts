import {
  type ConfigObject,
  type FieldPath,
  namespaceKind,
  namespaces,
  podKind,
  pods,
  serviceEntries,
  serviceEntryKind,
  serviceKind,
  services,
  templatePath,
  workloadEntries,
  workloadEntryKind,
  workloadKinds,
} from "@istiod/config-schema";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";

type Labels = Readonly<Record<string, string>>;

/** Labels of ambient mode, with what to do instead. `none` asks for no ambient mode. */
const ambientLabels: Readonly<Record<string, string>> = {
  "istio.io/dataplane-mode": "inject sidecars by the label istio-injection=enabled of the Namespace",
  "istio.io/use-waypoint": "sidecars apply routes and policies by themselves",
  "istio.io/ingress-use-waypoint": "gateways apply routes and policies by themselves",
};

export const ambientLabelAnalyzer: Analyzer = {
  name: "mesh.AmbientLabelAnalyzer",
  description: "Checks for labels of ambient mode, which is not supported yet",
  codes: ["MESH0003"],
  rules: [
    rule(namespaceKind, namespaces, checkObject),
    rule(serviceKind, services, checkObject),
    rule(podKind, pods, checkObject),
    rule(serviceEntryKind, serviceEntries, checkObject),
    rule(workloadEntryKind, workloadEntries, checkObject),
    ...workloadKinds.map((kind) =>
      rule(kind, kind.collection, ({ spec }, context) => check(spec.templateLabels, templatePath(kind), context)),
    ),
  ],
};

function checkObject({ labels }: ConfigObject<unknown, unknown>, context: AnalysisContext): void {
  check(labels, [], context);
}

function check(labels: Labels, at: FieldPath, { report }: AnalysisContext): void {
  for (const [label, instead] of Object.entries(ambientLabels)) {
    const value = labels[label];
    if (value === undefined || value === "none" || value === "") continue;
    report(
      "MESH0003",
      [...at, "metadata", "labels", label],
      `label ${label}=${value} has no effect: ambient mode is not supported yet; ${instead}`,
    );
  }
}
