import { type PodObject, proxyConfigsByNamespace, readProxyConfigAnnotation } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import { mesh } from "@istiod/push-context";
import { hasLabels } from "@istiod/service-discovery";

const annotation = "proxy.istio.io/config";

/**
 * Returns a function from a pod of the namespace to the type of its proxy image, such as `distroless`; empty for the
 * default one. The most specific of these counts: the pod's annotation, ProxyConfigs with a selector, those of the
 * namespace, those of the root namespace, the mesh configuration.
 */
export function imageTypes(q: QueryContext, namespace: string): (pod: PodObject) => string {
  const { rootNamespace = "", defaultConfig } = mesh(q);
  const root = rootNamespace || "istio-system";
  const ofNamespace = namespace === root ? [] : q.read(proxyConfigsByNamespace, namespace);
  const general = [
    ...q.read(proxyConfigsByNamespace, root),
    ...ofNamespace.filter(({ spec }) => spec.selector === undefined),
  ];
  const fallback = last([defaultConfig?.image?.imageType, ...general.map(({ spec }) => spec.image?.imageType)]);
  const selecting = ofNamespace.filter(({ spec }) => spec.selector !== undefined);
  return ({ labels, annotations }) => {
    const applicable = selecting.filter(({ spec }) => hasLabels(labels, spec.selector?.matchLabels ?? {}));
    const type = last([
      fallback,
      ...applicable.map(({ spec }) => spec.image?.imageType),
      annotated(annotations[annotation]),
    ]);
    return type === "default" ? "" : type;
  };
}

function annotated(value: string | undefined): string | undefined {
  const ignore = (): void => undefined;
  return value === undefined
    ? undefined
    : readProxyConfigAnnotation(value, { error: ignore, warning: ignore })?.image?.imageType;
}

/** Returns the last type that is set. */
function last(types: readonly (string | undefined)[]): string {
  return types.findLast((type) => type !== undefined && type !== "") ?? "";
}
