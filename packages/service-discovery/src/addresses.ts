import { UNSPECIFIED_ADDRESS, type Service } from "./model/service.js";

/** What a client's answer to "where do I reach this service" depends on. */
export interface AddressView {
  /** The client's cluster; empty if unknown. */
  readonly cluster: string;
  /** Whether the client can use allocated addresses: its DNS is answered by its agent. */
  readonly usesAllocated: boolean;
  /** Whether the client takes addresses of both families. */
  readonly keepsAllFamilies: boolean;
  /** Of several addresses, those of the families that the client has. */
  readonly reachable: (addresses: readonly string[]) => readonly string[];
}

/**
 * All addresses of a service for a client: those in its cluster, else allocated ones, else the service's own. IPs or
 * CIDRs; `0.0.0.0` means none. Source: `GetAllAddressesForProxy`.
 */
export function serviceAddresses(service: Service, view: AddressView): readonly string[] {
  const ofCluster = service.clusterAddresses[view.cluster] ?? [];
  const known = ofCluster.length > 0 || !view.usesAllocated ? ofCluster : allocated(service);
  const usable = view.keepsAllFamilies ? known : view.reachable(known);
  if (usable.length > 0) return usable;
  const own = [service.defaultAddress];
  return Object.keys(service.clusterAddresses).length > 0 ? view.reachable(own) : own;
}

/** The address at which listeners and virtual hosts expect a service. Source: `GetAddressForProxy`. */
export function serviceAddress(
  service: Service,
  view: AddressView & { readonly ipv4: boolean; readonly ipv6: boolean },
): string {
  const [first] = view.reachable(service.clusterAddresses[view.cluster] ?? []);
  if (first !== undefined) return first;
  if (view.usesAllocated && service.defaultAddress === UNSPECIFIED_ADDRESS) {
    if (view.ipv4 && service.autoAllocatedIpv4 !== undefined) return service.autoAllocatedIpv4;
    if (view.ipv6 && service.autoAllocatedIpv6 !== undefined) return service.autoAllocatedIpv6;
  }
  return service.defaultAddress;
}

function allocated({ autoAllocatedIpv4, autoAllocatedIpv6 }: Service): readonly string[] {
  return [autoAllocatedIpv4, autoAllocatedIpv6].filter((address) => address !== undefined);
}
