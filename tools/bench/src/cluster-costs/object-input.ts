import type { ObjectInput } from "@istiod/kubernetes/testing";
import type { KubernetesObject } from "../mesh/objects.js";

/** Returns an object without what the server sets: metadata, and the addresses of Services. */
export function inputOf({ metadata, ...object }: KubernetesObject): ObjectInput {
  const { name, namespace, labels, annotations } = metadata as ObjectInput["metadata"] & { readonly name: string };
  const { spec } = object as { readonly spec?: object };
  const kept = Object.entries(spec ?? {}).filter(([field]) => !/^clusterIPs?$/.test(field));
  return {
    ...object,
    ...(object.kind === "Service" && { spec: Object.fromEntries(kept) as object }),
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      ...(labels !== undefined && { labels }),
      ...(annotations !== undefined && { annotations }),
    },
  };
}
