import { type PodObject, proxyConfigsByNamespace, readProxyConfigAnnotation } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import { mesh } from "@istiod/push-context";
import { hasLabels } from "@istiod/service-discovery";

const annotation = "proxy.istio.io/config";

/**
 * Returns a function from a pod of the namespace to the type of its proxy image, such as `distroless`; empty for the
 * default type. In order of precedence, the type is set by the pod's annotation, a ProxyConfig with a selector, a
 * ProxyConfig of the namespace, a ProxyConfig of the root namespace, or the mesh configuration.
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
