import { configCluster, type VirtualServiceObject } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import type { RouteReference } from "./route.js";

/** Content of a VirtualService that stands for routes. */
export interface DerivedVirtualService extends Pick<
  VirtualServiceObject,
  "namespace" | "name" | "creationTimestamp" | "spec"
> {
  /** The routes that it stands for, the oldest first. */
  readonly routes: readonly RouteReference[];
}

/** Returns a VirtualService whose annotations name the routes that it stands for. */
export function derivedVirtualService(
  q: QueryContext,
  { routes, ...content }: DerivedVirtualService,
): VirtualServiceObject {
  return {
    kind: "VirtualService",
    ...content,
    labels: {},
    annotations: {
      "internal.istio.io/parents": routes.map(parentName).join(","),
      "internal.istio.io/route-semantics": "gateway",
    },
    cluster: configCluster(q),
  };
}

function parentName({ kind, key }: RouteReference): string {
  const slash = key.indexOf("/");
  return `${kind}/${key.slice(slash + 1)}.${key.slice(0, slash)}`;
}
