import { endpointSlices, type EndpointSliceObject, pods } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";

/** An address that an EndpointSlice names a pod for that is not known, so that it is left out. */
export interface EndpointWithoutPod {
  readonly address: string;
  /** `namespace/service`. */
  readonly service: string;
}

/** The addresses of all EndpointSlices whose pods are not known, each with its service; in order of slices. */
export const endpointsWithoutPods = query("endpointsWithoutPods", (q): readonly EndpointWithoutPod[] =>
  q.keys(endpointSlices).flatMap((key) => q.call(withoutPodsOf, key)),
);

const withoutPodsOf = query("endpointsOfSliceWithoutPods", (q, key: string): readonly EndpointWithoutPod[] => {
  const slice = q.read(endpointSlices, key);
  return slice === undefined || slice.spec.service === "" || slice.spec.addressType === "FQDN" ? [] : waiting(q, slice);
});

function waiting(q: QueryContext, { cluster, namespace, spec }: EndpointSliceObject): readonly EndpointWithoutPod[] {
  return spec.endpoints.flatMap(({ targetRef, addresses }) => {
    if (targetRef?.kind !== "Pod" || q.read(pods, `${cluster}/${targetRef.namespace}/${targetRef.name}`) !== undefined)
      return [];
    return addresses.map((address) => ({ address, service: `${namespace}/${spec.service}` }));
  });
}
