import {
  type ConfigObject,
  type FieldPath,
  istioKinds,
  mutatingWebhookConfigurations,
  namespaceKind,
  namespaces,
  templatePath,
  workloadKinds,
} from "@istiod/config-schema";
import { type Collection, query } from "@istiod/incremental";
import { nearestNames } from "@istiod/settings";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { listNames, quotedNearest } from "../../suggestions.js";
import { isInjector, revisionsOf } from "../webhooks/overlap.js";

const revisionLabel = "istio.io/rev";
const tagLabel = "istio.io/tag";

/** Without injection webhooks, no revision is known, and none is reported. */
export const revisionAnalyzer: Analyzer = {
  name: "mesh.RevisionAnalyzer",
  description: "Checks that the revisions in labels are those of injection webhooks, if there are any",
  codes: ["MESH0049"],
  rules: [
    rule(namespaceKind, namespaces, ({ labels }, context) =>
      checkRevision(labels[revisionLabel], [], "pods of the namespace get no sidecar", context),
    ),
    ...workloadKinds.map((kind) =>
      rule(kind, kind.collection, ({ spec }, context) =>
        checkRevision(spec.templateLabels[revisionLabel], templatePath(kind), "its pods get no sidecar", context),
      ),
    ),
    ...istioKinds.map((kind) =>
      rule(kind, kind.collection as Collection<ConfigObject<unknown, unknown>>, ({ labels }, context) =>
        checkRevision(labels[revisionLabel], [], "every control plane ignores the object", context),
      ),
    ),
  ],
};

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
