import { structurallyEqual } from "@istiod/incremental";
import { ServiceEntry_Resolution } from "@istiod/istio-api/networking/v1alpha3/service_entry";
import { endpointSlices, pods, serviceEntries, type ServiceEntryObject, workloadEntries } from "@istiod/config-schema";
import type { Write } from "./write.js";

const ofEndpoints: ReadonlySet<unknown> = new Set([endpointSlices, pods, workloadEntries]);

/**
 * Whether a write changes endpoints alone, which Istio calls `EDSUpdate`: any of an EndpointSlice, a Pod or a
 * WorkloadEntry, and one of a ServiceEntry that has its endpoints changed and nothing else, if they are sent as
 * endpoints and not as part of a cluster.
 *
 * @param before the value that is to be replaced; undefined if there is none
 */
export function changesEndpointsAlone({ collection, value }: Write, before: unknown): boolean {
  if (ofEndpoints.has(collection)) return true;
  if ((collection as unknown) !== serviceEntries || value === undefined || before === undefined) return false;
  const [now, then] = [value, before] as [ServiceEntryObject, ServiceEntryObject];
  return (
    now.spec.resolution === ServiceEntry_Resolution.STATIC &&
    structurallyEqual(withoutEndpoints(now), withoutEndpoints(then))
  );
}

function withoutEndpoints(object: ServiceEntryObject): ServiceEntryObject {
  return { ...object, spec: { ...object.spec, endpoints: [] } };
}
