import {
  type Container,
  type FieldPath,
  mutatingWebhookConfigurations,
  namespaces,
  type PodObject,
  templatePath,
  type Webhook,
  type WorkloadKind,
  type WorkloadObject,
} from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import type { AnalysisContext } from "../../analyzer.js";
import { proxyContainer } from "../../queries/membership.js";
import { matchesSelector } from "../webhooks/selector.js";

/** The injection webhooks of a cluster. */
const injectionWebhooks = query("injectionWebhooks", (q, cluster: string): readonly Webhook[] =>
  q
    .all(mutatingWebhookConfigurations)
    .filter((configuration) => configuration.cluster === cluster)
    .flatMap(({ spec }) => spec.webhooks)
    .filter(({ name }) => name.endsWith("istio.io")),
);

/** Reports a pod that was not injected and still has `image: auto`. */
export function checkPodImage({ name, spec }: PodObject, { report }: AnalysisContext): void {
  const at = autoImageAt(spec.containers);
  if (at < 0) return;
  report(
    "IST0147",
    ["spec", "containers", at, "image"],
    `pod ${name} has "image: auto", which injection replaces, but was not injected; create it again where an injection webhook selects it`,
  );
}

/** Returns the check of the objects of a kind that creates pods. */
export function checkTemplateImage(kind: WorkloadKind): (workload: WorkloadObject, context: AnalysisContext) => void {
  return (workload, context) => checkTemplate(workload, [...templatePath(kind), "spec"], context);
}

/** Reports a Deployment with `image: auto` whose pods no injection webhook selects. */
function checkTemplate(workload: WorkloadObject, at: FieldPath, { q, report }: AnalysisContext): void {
  const { cluster, namespace, kind, name, spec } = workload;
  const index = autoImageAt(spec.containers);
  if (index < 0) return;
  const ofNamespace = q.read(namespaces, `${cluster}/${namespace}`)?.labels ?? {};
  const injected = q
    .call(injectionWebhooks, cluster)
    .some(
      (w) =>
        matchesSelector(w.namespaceSelector, ofNamespace) && matchesSelector(w.objectSelector, spec.templateLabels),
    );
  if (injected) return;
  report(
    "IST0146",
    [...at, "containers", index, "image"],
    `${kind} ${name} has "image: auto" but no injection webhook selects its pods; enable injection for namespace ${namespace} or for the pods`,
  );
}

function autoImageAt(containers: readonly Container[]): number {
  return containers.findIndex(({ name, image, init }) => !init && name === proxyContainer && image === "auto");
}
