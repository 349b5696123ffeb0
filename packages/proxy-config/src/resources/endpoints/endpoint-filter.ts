import type { Address } from "@istiod/envoy-api/envoy/config/core/v3/address";
import { HealthStatus } from "@istiod/envoy-api/envoy/config/core/v3/health_check";
import { endpointAddress, formatAddress } from "./addresses.js";

/** Selects endpoints; absent fields select all. Values are compared as a whole and case-insensitively. */
export interface EndpointFilter {
  /** Address, with or without the port. */
  readonly address?: string | undefined;
  readonly port?: number | undefined;
  /** Name of the cluster. */
  readonly cluster?: string | undefined;
  /** Envoy's health status, such as `HEALTHY`. */
  readonly status?: string | undefined;
}

/** Reports whether a filter selects an endpoint, which may have several addresses. */
export function selects(
  filter: EndpointFilter,
  addresses: readonly (Address | undefined)[],
  cluster: string,
  status: HealthStatus,
): boolean {
  const { address, port } = filter;
  if (
    address &&
    !addresses.some((each) => same(address, endpointAddress(each).host) || same(address, formatAddress(each)))
  )
    return false;
  if (port && endpointAddress(addresses[0]).port !== port) return false;
  return (
    (!filter.cluster || same(filter.cluster, cluster)) && (!filter.status || same(filter.status, HealthStatus[status]))
  );
}

function same(a: string, b: string | undefined): boolean {
  return a.toLowerCase() === b?.toLowerCase();
}
