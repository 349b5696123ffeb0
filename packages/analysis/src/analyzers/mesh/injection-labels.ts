import {
  type ConfigObject,
  type FieldPath,
  namespaceKind,
  type NamespaceObject,
  namespaces,
  podKind,
  pods,
  templatePath,
  workloadKinds,
} from "@istiod/config-schema";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { didYouMean } from "../../queries/namespaces.js";

const namespaceLabel = "istio-injection";
const namespaceValues = ["enabled", "disabled"];
const podLabel = "sidecar.istio.io/inject";
const podValues = ["true", "false"];

type Labels = Readonly<Record<string, string>>;

export const injectionLabelAnalyzer: Analyzer = {
  name: "mesh.InjectionLabelAnalyzer",
  description: "Checks that injection labels have values with a meaning, and are on objects where they are read",
  codes: ["MESH0018"],
  rules: [
    rule(namespaceKind, namespaces, checkNamespace),
    rule(podKind, pods, (pod, context) => {
      checkPod(pod.labels, pod.annotations, [], context);
      checkHostNetwork(pod.spec.hostNetwork, pod.labels, pod.annotations, [], context);
    }),
    ...workloadKinds.map((kind) =>
      rule(kind, kind.collection, ({ spec, ...object }, context) => {
        const at = templatePath(kind);
        checkPod(spec.templateLabels, spec.templateAnnotations, at, context);
        checkHostNetwork(spec.hostNetwork, spec.templateLabels, spec.templateAnnotations, at, context);
        checkCreator(object, templatePath(kind), context);
      }),
    ),
  ],
};

function checkNamespace({ labels }: NamespaceObject, { report }: AnalysisContext): void {
  const value = labels[namespaceLabel];
  if (value !== undefined && !namespaceValues.includes(value))
    report(
      "MESH0018",
      ["metadata", "labels", namespaceLabel],
      `label ${namespaceLabel}=${value} neither enables nor disables injection; expected enabled or disabled${didYouMean(value, namespaceValues)}`,
    );
  if (labels[podLabel] !== undefined)
    report(
      "MESH0018",
      ["metadata", "labels", podLabel],
      `label ${podLabel} has no effect on a Namespace: it is read from Pods; label the namespace ${namespaceLabel}=${labels[podLabel] === "false" ? "disabled" : "enabled"}`,
    );
}

/** Checks the labels and annotations of a Pod, or of a template of Pods at a path. */
function checkPod(labels: Labels, annotations: Labels, at: FieldPath, { report }: AnalysisContext): void {
  for (const [where, values] of [
    ["label", labels],
    ["annotation", annotations],
  ] as const) {
    const value = values[podLabel];
    if (value === undefined || value === "" || podValues.includes(value)) continue;
    report(
      "MESH0018",
      [...at, "metadata", `${where}s`, podLabel],
      `${where} ${podLabel}=${value} is ignored, because it neither enables nor disables injection; expected "true" or "false"${suggestion(value)}`,
    );
  }
  if (labels[namespaceLabel] !== undefined)
    report(
      "MESH0018",
      [...at, "metadata", "labels", namespaceLabel],
      `label ${namespaceLabel} has no effect on a Pod: it is read from Namespaces; label the Pod ${podLabel}=${labels[namespaceLabel] === "disabled" ? "false" : "true"}`,
    );
}

/** Reports Pods that ask for a sidecar and never get one, because they use the network of their node. */
function checkHostNetwork(
  hostNetwork: boolean,
  labels: Labels,
  annotations: Labels,
  at: FieldPath,
  { report }: AnalysisContext,
): void {
  if (!hostNetwork || (labels[podLabel] ?? annotations[podLabel]) !== "true") return;
  const field = labels[podLabel] === undefined ? "annotations" : "labels";
  report(
    "MESH0018",
    [...at, "metadata", field, podLabel],
    `${podLabel}=true has no effect: the Pod has hostNetwork: true, and its traffic cannot be redirected without that of its node, so that no sidecar is injected; remove one of the two`,
  );
}

/** Checks the labels of an object that creates Pods, which do not get its own labels. */
function checkCreator(
  { kind, labels }: Pick<ConfigObject<unknown>, "kind" | "labels">,
  at: FieldPath,
  context: AnalysisContext,
): void {
  for (const name of [podLabel, namespaceLabel]) {
    if (labels[name] === undefined) continue;
    context.report(
      "MESH0018",
      ["metadata", "labels", name],
      `label ${name} has no effect on a ${kind}: ${name === podLabel ? `it is read from Pods; set it in ${[...at, "metadata", "labels"].join(".")}` : `it is read from Namespaces; set ${podLabel} in ${[...at, "metadata", "labels"].join(".")}`}`,
    );
  }
}

/** Returns what a word for true or false stands for in injection. */
function suggestion(value: string): string {
  const word = value.toLowerCase();
  const meant = ["yes", "y", "on", "1", "t", "true", "enabled"].includes(word)
    ? "true"
    : ["no", "n", "off", "0", "f", "false", "disabled"].includes(word)
      ? "false"
      : undefined;
  return meant === undefined ? "" : `; did you mean "${meant}"?`;
}
