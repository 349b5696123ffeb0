import { endpointSlices, type EndpointSliceObject, pods } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";

/** An address of an EndpointSlice that is omitted because its pod is unknown. */
export interface EndpointWithoutPod {
  readonly address: string;
  /** `namespace/service`. */
  readonly service: string;
}

/** All addresses of EndpointSlices with unknown pods, in order of the slices. */
export const endpointsWithoutPods = query("endpointsWithoutPods", (q): readonly EndpointWithoutPod[] =>
  q.keys(endpointSlices).flatMap((key) => q.call(sliceEndpointsWithoutPods, key)),
);

const sliceEndpointsWithoutPods = query(
  "endpointsOfSliceWithoutPods",
  (q, key: string): readonly EndpointWithoutPod[] => {
    const slice = q.read(endpointSlices, key);
    return slice === undefined || slice.spec.service === "" || slice.spec.addressType === "FQDN"
      ? []
      : addressesWithoutPods(q, slice);
  },
);

function addressesWithoutPods(
  q: QueryContext,
  { cluster, namespace, spec }: EndpointSliceObject,
): readonly EndpointWithoutPod[] {
  return spec.endpoints.flatMap(({ targetRef, addresses }) => {
    if (targetRef?.kind !== "Pod" || q.read(pods, `${cluster}/${targetRef.namespace}/${targetRef.name}`) !== undefined)
      return [];
    return addresses.map((address) => ({ address, service: `${namespace}/${spec.service}` }));
  });
}
