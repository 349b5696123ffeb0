import { type NamespaceObject, podsByNamespace, type PodObject } from "@istiod/config-schema";
import type { AnalysisContext } from "../../analyzer.js";
import { proxyContainer } from "../../queries/membership.js";
import { listNames } from "../../suggestions.js";
import { imageTypes } from "./image-type.js";
import { injectorConfig } from "../../queries/injector-config.js";
import { injectionLabel, revisionLabel } from "./namespace-labels.js";

/** Checks that the pods of an injected namespace run the proxy image that injection would set now. */
export function checkProxyImages({ cluster, name, labels }: NamespaceObject, { q, report }: AnalysisContext): void {
  const revision = labels[revisionLabel] ?? (labels[injectionLabel] === "enabled" ? "default" : undefined);
  const image = revision === undefined ? undefined : injectorConfig(q, cluster, revision)?.image;
  if (image === undefined) return;
  const typeOf = imageTypes(q, name);
  const differing = q
    .read(podsByNamespace, `${cluster}/${name}`)
    .filter((pod) => !hasOwnImage(pod) && runsOther(pod, [image, `${image}-${typeOf(pod)}`]))
    .map((pod) => pod.name);
  if (differing.length === 0) return;
  report(
    "IST0158",
    [],
    `pods in namespace ${name} run another proxy image than injection gives them (${image}): ${listNames(differing)}; restart them to update their sidecars`,
  );
}

/** Reports whether the pod chooses its image itself. */
function hasOwnImage({ annotations }: PodObject): boolean {
  return (annotations["sidecar.istio.io/proxyImage"] ?? "") !== "";
}

function runsOther({ spec }: PodObject, images: readonly string[]): boolean {
  return spec.containers.some(({ name, image }) => name === proxyContainer && !images.includes(image));
}
