import { configCluster, type VirtualServiceObject } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import type { RouteReference } from "./route.js";

/** Content of a VirtualService that stands for routes. */
type DerivedVirtualService = Pick<
  VirtualServiceObject,
  "namespace" | "name" | "creationTimestamp" | "annotations" | "spec"
>;

/** Returns a VirtualService that stands for routes, which its annotations name. */
export function derivedVirtualService(q: QueryContext, content: DerivedVirtualService): VirtualServiceObject {
  return { kind: "VirtualService", ...content, labels: {}, cluster: configCluster(q) };
}

/** Returns annotations that name the routes a VirtualService stands for. @param routes the oldest first */
export function derivedAnnotations(routes: readonly RouteReference[]): Readonly<Record<string, string>> {
  return {
    "internal.istio.io/parents": routes.map(parentName).join(","),
    "internal.istio.io/route-semantics": "gateway",
  };
}

function parentName({ kind, key }: RouteReference): string {
  const slash = key.indexOf("/");
  return `${kind}/${key.slice(slash + 1)}.${key.slice(0, slash)}`;
}
