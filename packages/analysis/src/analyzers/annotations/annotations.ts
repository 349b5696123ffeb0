import {
  type ConfigObject,
  type FieldPath,
  namespaceKind,
  namespaces,
  podKind,
  type PodObject,
  pods,
  serviceKind,
  services,
  templatePath,
  workloadKinds,
} from "@istiod/config-schema";
import { nearestNames, statsAnnotationFaults } from "@istiod/settings";
import { type AnalysisContext, type Analyzer, rule, type Rule } from "../../analyzer.js";
import { quotedNearest } from "../../suggestions.js";
import { annotationDefinitions, isAnalyzedAnnotation } from "./definitions.js";
import { resourceFaults } from "./resources.js";
import { annotationFault, annotationWarnings } from "./values.js";

type AnyObject = ConfigObject<unknown, unknown>;

/** Analyzers of annotations in Istio's domain. */
export const annotationAnalyzers: readonly Analyzer[] = [
  {
    name: "annotations.K8sAnalyzer",
    description: "Checks that Istio's annotations exist, are on the right kinds and have valid values",
    codes: ["IST0107", "IST0108", "IST0125", "IST0135"],
    rules: [...annotatedKinds(checkAnnotations), ...templates()],
  },
  {
    name: "annotations.AlphaAnalyzer",
    description: "Finds annotations of alpha features",
    codes: ["IST0136"],
    rules: annotatedKinds(checkMaturity),
    onRequest: true,
  },
];

/** The annotations of an object, or of a template in it. */
interface Annotated {
  readonly kind: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Path of the metadata's parent. */
  readonly at: FieldPath;
}

function annotatedKinds(analyze: (object: AnyObject, context: AnalysisContext) => void): readonly Rule[] {
  return [
    rule(namespaceKind, namespaces, analyze),
    rule(serviceKind, services, analyze),
    rule(podKind, pods, analyze),
    ...workloadKinds.map((kind) => rule(kind, kind.collection, analyze)),
  ];
}

/** Returns the checks of templates of Pods, whose annotations are those of the Pods. */
function templates(): readonly Rule[] {
  return workloadKinds.map((kind) =>
    rule(kind, kind.collection, ({ spec }, context) =>
      checkAnnotated(
        {
          kind: podKind.kind,
          labels: spec.templateLabels,
          annotations: spec.templateAnnotations,
          at: templatePath(kind),
        },
        context,
      ),
    ),
  );
}

function checkAnnotations(object: AnyObject, context: AnalysisContext): void {
  checkAnnotated({ ...object, at: [] }, context);
}

function checkAnnotated(object: Annotated, { report }: AnalysisContext): void {
  for (const name of Object.keys(object.labels)) {
    const definition = annotationDefinitions.get(name);
    if (definition?.kinds.includes(object.kind) !== true || labelsToo.has(name)) continue;
    const path = [...object.at, "metadata", "labels", name];
    report("IST0107", path, `annotation ${name} is misplaced: it has no effect as a label; move it to annotations`);
  }
  const together = { ...statsAnnotationFaults(object.annotations), ...resourceFaults(object.annotations) };
  for (const [name, value] of Object.entries(object.annotations)) {
    if (!isAnalyzedAnnotation(name)) continue;
    const path = [...object.at, "metadata", "annotations", name];
    const definition = annotationDefinitions.get(name);
    if (definition === undefined) {
      const nearest = nearestNames(name, annotationDefinitions.keys());
      report(
        "IST0108",
        path,
        `annotation ${name} is unknown: Istio has no annotation of that name${quotedNearest(nearest)}`,
      );
      continue;
    }
    if (definition.deprecated && !isReplaced(name, object)) report("IST0135", path, deprecation(name));
    if (definition.kinds.includes("Any")) continue;
    if (!definition.kinds.includes(object.kind)) {
      report("IST0107", path, `annotation ${name} is misplaced: ${misplacement(object.kind, definition.kinds)}`);
      continue;
    }
    const fault = annotationFault(name, value) ?? together[name];
    if (fault !== undefined) report("IST0125", path, `annotation ${name} is invalid: it ${fault}`);
    for (const warning of annotationWarnings(name, value))
      report("IST0125", path, `annotation ${name} has a part without effect: ${warning}`);
  }
}

/** Returns where an annotation has no effect, where it has one, and how to get there for the Pods of an object. */
function misplacement(kind: string, kinds: readonly string[]): string {
  const creator = kinds.includes(podKind.kind) ? workloadKinds.find((each) => each.kind === kind) : undefined;
  const moved = creator && `; move it to ${[...templatePath(creator), "metadata", "annotations"].join(".")}`;
  return `it has no effect on a ${kind}, it applies to ${kinds.join(", ")}${moved ?? ""}`;
}

const injection = "sidecar.istio.io/inject";

/** Annotations that are also read as labels. */
const labelsToo: ReadonlySet<string> = new Set([injection, "istio.io/rev"]);

/** Reports whether the object has the label that replaces a deprecated annotation, too. */
function isReplaced(name: string, { labels }: Pick<Annotated, "labels">): boolean {
  return name === injection && labels[injection] !== undefined;
}

function deprecation(name: string): string {
  return `annotation ${name} is deprecated and may be removed${name === injection ? `; use the label ${injection} instead` : ""}`;
}

/** Annotations of pods that Istio's CNI plugin needs, and that injection sets. */
const setForCni: ReadonlySet<string> = new Set([
  "sidecar.istio.io/interceptionMode",
  "traffic.sidecar.istio.io/includeInboundPorts",
  "traffic.sidecar.istio.io/excludeInboundPorts",
  "traffic.sidecar.istio.io/includeOutboundIPRanges",
]);

function checkMaturity(object: AnyObject, { report }: AnalysisContext): void {
  for (const name of Object.keys(object.annotations)) {
    if (!isAnalyzedAnnotation(name) || annotationDefinitions.get(name)?.alpha !== true) continue;
    if (setForCni.has(name) && isPod(object) && !hasInitContainer(object)) continue;
    report(
      "IST0136",
      ["metadata", "annotations", name],
      `annotation ${name} is part of an alpha feature, which may change or be removed`,
    );
  }
}

function isPod(object: AnyObject): object is PodObject {
  return object.kind === podKind.kind;
}

/** Reports whether an init container redirects the pod's traffic. Otherwise the CNI plugin does. */
function hasInitContainer({ spec }: PodObject): boolean {
  return spec.containers.some(({ init, name }) => init && name === "istio-init");
}
