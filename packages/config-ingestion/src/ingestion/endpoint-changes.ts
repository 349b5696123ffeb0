import { structurallyEqual } from "@istiod/incremental";
import { ServiceEntry_Resolution } from "@istiod/istio-api/networking/v1alpha3/service_entry";
import { endpointSlices, pods, serviceEntries, type ServiceEntryObject, workloadEntries } from "@istiod/config-schema";
import type { Write } from "./write.js";

const endpointCollections: ReadonlySet<unknown> = new Set([endpointSlices, pods, workloadEntries]);

/**
 * Reports whether a write changes endpoints only, which Istio calls `EDSUpdate`: any write of an EndpointSlice, a Pod
 * or a WorkloadEntry, and a write of a ServiceEntry with static resolution that differs in its endpoints only.
 *
 * @param before the value that the write replaces; undefined if there is none
 */
export function changesEndpointsAlone({ collection, value }: Write, before: unknown): boolean {
  if (endpointCollections.has(collection)) return true;
  if ((collection as unknown) !== serviceEntries || value === undefined || before === undefined) return false;
  const [after, previous] = [value, before] as [ServiceEntryObject, ServiceEntryObject];
  return (
    after.spec.resolution === ServiceEntry_Resolution.STATIC &&
    structurallyEqual(withoutEndpoints(after), withoutEndpoints(previous))
  );
}

function withoutEndpoints(object: ServiceEntryObject): ServiceEntryObject {
  return { ...object, spec: { ...object.spec, endpoints: [] } };
}
