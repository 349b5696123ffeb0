import { UNSPECIFIED_ADDRESS, type Service } from "./model/service.js";

/** The properties of a client that a service's addresses depend on. */
export interface AddressView {
  /** The client's cluster; empty if unknown. */
  readonly cluster: string;
  /** True if the client can use auto-allocated addresses, because its agent answers its DNS queries. */
  readonly usesAutoAllocated: boolean;
  /** True if the client uses addresses of both families. */
  readonly keepsAllFamilies: boolean;
  /** Returns the addresses of the families that the client has. */
  readonly reachable: (addresses: readonly string[]) => readonly string[];
}

/**
 * Returns all addresses of a service for a client: those in its cluster, else auto-allocated ones, else the service's
 * own. IPs or CIDRs; `0.0.0.0` means none. Source: `GetAllAddressesForProxy`.
 */
export function serviceAddresses(service: Service, view: AddressView): readonly string[] {
  const clusterAddresses = service.clusterAddresses[view.cluster] ?? [];
  const addresses = clusterAddresses.length > 0 || !view.usesAutoAllocated ? clusterAddresses : autoAllocated(service);
  const usable = view.keepsAllFamilies ? addresses : view.reachable(addresses);
  if (usable.length > 0) return usable;
  const own = [service.defaultAddress];
  return Object.keys(service.clusterAddresses).length > 0 ? view.reachable(own) : own;
}

/** Returns the address of a service for the client's listeners and virtual hosts. Source: `GetAddressForProxy`. */
export function serviceAddress(
  service: Service,
  view: AddressView & { readonly ipv4: boolean; readonly ipv6: boolean },
): string {
  const [first] = view.reachable(service.clusterAddresses[view.cluster] ?? []);
  if (first !== undefined) return first;
  if (view.usesAutoAllocated && service.defaultAddress === UNSPECIFIED_ADDRESS) {
    if (view.ipv4 && service.autoAllocatedIpv4 !== undefined) return service.autoAllocatedIpv4;
    if (view.ipv6 && service.autoAllocatedIpv6 !== undefined) return service.autoAllocatedIpv6;
  }
  return service.defaultAddress;
}

function autoAllocated({ autoAllocatedIpv4, autoAllocatedIpv6 }: Service): readonly string[] {
  return [autoAllocatedIpv4, autoAllocatedIpv6].filter((address) => address !== undefined);
}
