import type { ServiceEntryObject } from "@istiod/config-schema";
import { ServiceEntry_Resolution } from "@istiod/istio-api/networking/v1alpha3/service_entry";
import type { Resolution } from "../model/service.js";

/** Returns the resolution of a ServiceEntry. */
export function resolutionOf(entry: ServiceEntryObject): Resolution {
  switch (entry.spec.resolution) {
    case ServiceEntry_Resolution.STATIC:
      return "ClientSideLB";
    case ServiceEntry_Resolution.DNS:
      return "DNSLB";
    case ServiceEntry_Resolution.DNS_ROUND_ROBIN:
      return "DNSRoundRobinLB";
    case ServiceEntry_Resolution.DYNAMIC_DNS:
      return "DynamicDNS";
    default:
      return "Passthrough";
  }
}
