import { type NamespaceObject, namespaces, type PodObject } from "@istiod/config-schema";
import type { AnalysisContext } from "../../analyzer.js";
import { hasProxy, statedInjection } from "../../queries/membership.js";
import { injectorConfig } from "../../queries/injector-config.js";

export const injectionLabel = "istio-injection";
export const revisionLabel = "istio.io/rev";
const dataplaneLabel = "istio.io/dataplane-mode";

/** The namespace of the control plane, which is never injected. */
const controlPlaneNamespace = "istio-system";

/** Checks the injection labels of a namespace. */
export function checkNamespace(namespace: NamespaceObject, { q, report }: AnalysisContext): void {
  const { name, labels, cluster } = namespace;
  if (name === controlPlaneNamespace) return;
  const conflicting = conflictingLabels(namespace);
  if (conflicting.length > 1) {
    const listed = conflicting.map((label) => `${label}=${labels[label]}`).join(", ");
    report(
      "IST0123",
      ["metadata", "labels", conflicting[1] ?? ""],
      `namespace ${name} has more than one injection label (${listed}), which may conflict; keep one of them`,
    );
  }
  if (
    labels[dataplaneLabel] === "ambient" ||
    (labels[injectionLabel] ?? "") !== "" ||
    labels[revisionLabel] !== undefined
  )
    return;
  if (injectorConfig(q, cluster, "")?.enabledByDefault === true) {
    report(
      "IST0148",
      ["metadata", "name"],
      `namespace ${name} has no injection label and is injected because enableNamespacesByDefault is true; label it ${injectionLabel}=disabled to opt out`,
    );
  } else {
    report(
      "IST0102",
      ["metadata", "name"],
      `namespace ${name} is not enabled for Istio injection; label it ${injectionLabel}=enabled to inject sidecars, or ${injectionLabel}=disabled to opt out explicitly`,
    );
  }
}

/** Returns the injection labels of a namespace that may conflict. Labels that disable injection do not conflict. */
function conflictingLabels({ labels }: NamespaceObject): readonly string[] {
  const value = labels[injectionLabel];
  const others = value === undefined || value === "enabled" ? [revisionLabel, dataplaneLabel] : [];
  return [injectionLabel, ...others].filter((label) => labels[label] !== undefined);
}

/** Checks that a pod in an injected namespace has a sidecar. */
export function checkSidecar(pod: PodObject, { q, report }: AnalysisContext): void {
  const { cluster, namespace, name, spec } = pod;
  if (spec.hostNetwork || hasProxy(spec.containers) || statedInjection(pod)?.toLowerCase() === "false") return;
  const labels = q.read(namespaces, `${cluster}/${namespace}`)?.labels ?? {};
  if (
    namespace === controlPlaneNamespace ||
    labels[injectionLabel] !== "enabled" ||
    labels[dataplaneLabel] === "ambient"
  )
    return;
  report(
    "IST0103",
    ["metadata", "name"],
    `pod ${namespace}/${name} is missing the Istio proxy although its namespace is enabled for injection; it was created before, or injection failed: restart or redeploy it`,
  );
}
