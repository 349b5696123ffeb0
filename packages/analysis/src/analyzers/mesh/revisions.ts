import {
  type ConfigObject,
  type FieldPath,
  formatOtherRevision,
  istioKinds,
  type Kind,
  mutatingWebhookConfigurations,
  namespaceKind,
  namespaces,
  type ObjectOfOtherRevision,
  otherRevisions,
  templatePath,
  workloadKinds,
} from "@istiod/config-schema";
import { type Collection, query } from "@istiod/incremental";
import { nearestNames } from "@istiod/settings";
import { type AnalysisContext, type Analyzer, type Rule, rule } from "../../analyzer.js";
import { listNames, quotedNearest } from "../../suggestions.js";
import { isInjector, revisionsOf } from "../webhooks/overlap.js";

const revisionLabel = "istio.io/rev";
const tagLabel = "istio.io/tag";
const injectLabel = "sidecar.istio.io/inject";

/** Without injection webhooks, no revision is known, and none is reported. */
export const revisionAnalyzer: Analyzer = {
  name: "mesh.RevisionAnalyzer",
  description:
    "Checks that the revisions in labels are those of injection webhooks, if there are any, and names objects of other revisions",
  codes: ["MESH0049", "MESH0054"],
  rules: [
    rule(namespaceKind, namespaces, ({ labels }, context) =>
      checkRevision(labels[revisionLabel], [], "pods of the namespace get no sidecar", context),
    ),
    ...workloadKinds.map((kind) =>
      rule(kind, kind.collection, ({ spec: { templateLabels } }, context) => {
        // Pods that want no sidecar, such as those of a control plane, have its revision as a name.
        if (templateLabels[injectLabel] === "false") return;
        checkRevision(templateLabels[revisionLabel], templatePath(kind), "its pods get no sidecar", context);
      }),
    ),
    ...istioKinds.map((kind) =>
      rule(kind, kind.collection as Collection<ConfigObject<unknown, unknown>>, ({ labels }, context) =>
        checkRevision(labels[revisionLabel], [], "every control plane ignores the object", context),
      ),
    ),
    ...istioKinds.flatMap(ruleForOthers),
  ],
};

/** Reports objects that this control plane does not read. */
function ruleForOthers(kind: Kind): readonly Rule[] {
  const collection = otherRevisions.get(kind);
  if (collection === undefined) return [];
  return [
    {
      kind: { kind: kind.kind, group: kind.group, collection },
      nameOf: (other) => other as ObjectOfOtherRevision,
      analyze: (object, context) => {
        const other = object as ObjectOfOtherRevision;
        const at = ["metadata", "labels", revisionLabel];
        checkRevision(other.revision, [], "every control plane ignores the object", context);
        context.report("MESH0054", at, `${formatOtherRevision(other)}, which does not read the object`);
      },
    },
  ];
}

/** The revisions and tags of injection webhooks, sorted; `default` for those without a revision. */
const knownRevisions = query("knownRevisions", (q): readonly string[] => {
  const injectors = q.all(mutatingWebhookConfigurations).filter(isInjector);
  const named = injectors.flatMap((injector) => [
    ...revisionsOf(injector),
    ...(injector.labels[tagLabel] === undefined ? [] : [injector.labels[tagLabel]]),
  ]);
  return injectors.length === 0 ? [] : [...new Set([...named, "default"])].sort();
});

function checkRevision(
  revision: string | undefined,
  of: FieldPath,
  consequence: string,
  { q, report }: AnalysisContext,
): void {
  if (revision === undefined) return;
  const known = q.call(knownRevisions);
  if (known.length === 0 || known.includes(revision)) return;
  report(
    "MESH0049",
    [...of, "metadata", "labels", revisionLabel],
    `revision ${JSON.stringify(revision)} is not known, so that ${consequence}: injection webhooks have ${listNames(known)}${quotedNearest(nearestNames(revision, known))}`,
  );
}
