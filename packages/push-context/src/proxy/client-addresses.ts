import { fact, type QueryContext } from "@istiod/incremental";
import { type AddressView, type Service, serviceAddress, serviceAddresses } from "@istiod/service-discovery";
import { features } from "../mesh/features.js";
import { askMetadata, cluster, ipMode, proxyType } from "./facts.js";
import { addressesForIpMode, supportsIPv4, supportsIPv6 } from "./ip-mode.js";
import type { Proxy } from "./proxy.js";

/** Returns all addresses at which the client reaches a service: IPs or CIDRs; `0.0.0.0` stands for none. */
export function clientAddresses(q: QueryContext, service: Service): readonly string[] {
  return serviceAddresses(service, addressView(q, service));
}

/** Returns the service's address that the client's listeners and virtual hosts match. */
export function clientAddress(q: QueryContext, service: Service): string {
  return serviceAddress(service, addressView(q, service));
}

const reportsCluster = fact("reportsCluster", (proxy: Proxy, id: string) => proxy.metadata.CLUSTER_ID === id);

/** Returns the properties of the client that addresses depend on. Each is a fact, asked only when read. */
function addressView(
  q: QueryContext,
  service: Service,
): AddressView & { readonly ipv4: boolean; readonly ipv6: boolean } {
  return {
    get cluster() {
      const [only, ...others] = Object.keys(service.clusterAddresses);
      if (only === undefined) {
        return "";
      }
      return others.length > 0 ? q.ask(cluster) : q.ask(reportsCluster, only) ? only : "";
    },
    get usesAutoAllocated() {
      const allocated = service.autoAllocatedIpv4 !== undefined || service.autoAllocatedIpv6 !== undefined;
      return allocated && usesAllocatedAddresses(q);
    },
    get keepsAllFamilies() {
      return (features.dualStack(q) || features.ambient(q)) && q.ask(ipMode) === "Dual";
    },
    get ipv4() {
      return supportsIPv4(q.ask(ipMode));
    },
    get ipv6() {
      return supportsIPv6(q.ask(ipMode));
    },
    reachable: (addresses) => (addresses.length === 0 ? [] : addressesForIpMode(addresses, q.ask(ipMode))),
  };
}

/** Reports whether the client uses auto-allocated addresses, which requires its DNS proxy to resolve them. */
function usesAllocatedAddresses(q: QueryContext): boolean {
  return (
    (features.ipAutoallocate(q) || askMetadata(q, "DNS_AUTO_ALLOCATE") === true) &&
    (askMetadata(q, "DNS_CAPTURE") === true || q.ask(proxyType) === "waypoint")
  );
}
