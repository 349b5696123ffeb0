import { HealthStatus } from "@istiod/envoy-api/envoy/config/core/v3/health_check";
import type { QueryContext } from "@istiod/incremental";
import { features } from "@istiod/push-context";
import {
  type Endpoint,
  type Health,
  ISTIO_MUTUAL_TLS_MODE,
  type NetworkGateway,
  type Service,
} from "@istiod/service-discovery";
import { endpointAttributes, type EndpointMetadata, endpointMetadata } from "./endpoint-metadata.js";
import { type TunnelAddress, tunnelAddress, tunnelMetadata, usesHbone } from "./hbone-endpoint.js";
import { isDraining } from "./visible-endpoints.js";

/** An endpoint as the client reaches it, without its weight: the content of `LbEndpoint` as plain data. */
export interface LbEndpoint {
  readonly address: HostAddress | TunnelAddress;
  /** Addresses of other families. */
  readonly additionalAddresses: readonly HostAddress[];
  readonly health: HealthStatus;
  readonly metadata: EndpointMetadata;
}

/** An IP address or hostname with a port, or with port 0 the path of a Unix domain socket. */
interface HostAddress {
  readonly host: string;
  readonly port: number;
}

export function lbEndpoint(q: QueryContext, service: Service, endpoint: Endpoint, mutualTls: boolean): LbEndpoint {
  const metadata = endpointMetadata(q, endpointAttributes(q, service, endpoint, mutualTls));
  const health = isDraining(q, endpoint) ? HealthStatus.DRAINING : healthStatuses[endpoint.health];
  const { addresses, port } = endpoint;
  if (usesHbone(q, endpoint)) {
    return {
      address: tunnelAddress(endpoint),
      additionalAddresses: none,
      health,
      metadata: { ...metadata, ...tunnelMetadata(endpoint) },
    };
  }
  const additionalAddresses =
    addresses.length > 1 && features.dualStack(q) ? addresses.slice(1).map((host) => ({ host, port })) : none;
  return { address: { host: addresses[0] ?? "", port }, additionalAddresses, health, metadata };
}

/** Returns a gateway that stands for endpoints of another network. It accepts mutual TLS only. */
export function gatewayEndpoint(q: QueryContext, { cluster, address: host, port }: NetworkGateway): LbEndpoint {
  const facts = { tlsMode: ISTIO_MUTUAL_TLS_MODE, workloadName: "", namespace: "", labels: {}, cluster };
  return {
    address: { host, port },
    additionalAddresses: none,
    health: HealthStatus.UNKNOWN,
    metadata: endpointMetadata(q, facts),
  };
}

/** Returns the weight of an endpoint, at least 1. */
export function weightOf({ weight }: Endpoint): number {
  return weight > 0 ? weight : 1;
}

const none: readonly HostAddress[] = [];

const healthStatuses: Readonly<Record<Health, HealthStatus>> = {
  Healthy: HealthStatus.HEALTHY,
  Unhealthy: HealthStatus.UNHEALTHY,
  Draining: HealthStatus.DRAINING,
  Terminating: HealthStatus.UNHEALTHY,
  Unknown: HealthStatus.UNKNOWN,
};
