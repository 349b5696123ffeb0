import { create, type JsonObject } from "@bufbuild/protobuf";
import { type Metadata, MetadataSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { HealthStatus } from "@istiod/envoy-api/envoy/config/core/v3/health_check";
import { type LbEndpoint, LbEndpointSchema } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint_components";
import type { QueryContext } from "@istiod/incremental";
import { features } from "@istiod/push-context";
import { type Endpoint, type Health, ISTIO_MUTUAL_TLS_MODE, type NetworkGateway, type Service } from "@istiod/service-discovery";
import { address } from "../envoy/address.js";
import { endpointMetadata, factsOf } from "./endpoint-metadata.js";
import { isDraining } from "./visible-endpoints.js";
import { isTunnelled, tunnelAddress, tunnelMetadata } from "./tunnel.js";

/** An endpoint for Envoy, before it is decided how much it counts. */
export function lbEndpoint(q: QueryContext, service: Service, endpoint: Endpoint, mutualTls: boolean): LbEndpoint {
  const metadata = endpointMetadata(q, factsOf(q, service, endpoint, mutualTls));
  const healthStatus = isDraining(q, endpoint) ? HealthStatus.DRAINING : healthStatuses[endpoint.health];
  const [primary = "", ...others] = endpoint.addresses;
  if (isTunnelled(q, endpoint)) {
    return create(LbEndpointSchema, {
      healthStatus,
      loadBalancingWeight: weightOf(endpoint),
      metadata: filterMetadata({ ...metadata, ...tunnelMetadata(endpoint) }),
      hostIdentifier: { case: "endpoint", value: { address: tunnelAddress(endpoint) } },
    });
  }
  const additionalAddresses = features.dualStack(q) ? others.map((other) => ({ address: address(other, endpoint.port) })) : [];
  return create(LbEndpointSchema, {
    healthStatus,
    loadBalancingWeight: weightOf(endpoint),
    metadata: filterMetadata(metadata),
    hostIdentifier: { case: "endpoint", value: { address: address(primary, endpoint.port), additionalAddresses } },
  });
}

/** A gateway that stands for endpoints of another network; it takes mutual TLS only. */
export function gatewayEndpoint(q: QueryContext, gateway: NetworkGateway, weight: number): LbEndpoint {
  const facts = { tlsMode: ISTIO_MUTUAL_TLS_MODE, workloadName: "", namespace: "", labels: {}, cluster: gateway.cluster };
  return create(LbEndpointSchema, {
    loadBalancingWeight: weight,
    metadata: filterMetadata(endpointMetadata(q, facts)),
    hostIdentifier: { case: "endpoint", value: { address: address(gateway.address, gateway.port) } },
  });
}

/** The weight of an endpoint: at least 1. */
export function weightOf({ weight }: Endpoint): number {
  return weight > 0 ? weight : 1;
}

const healthStatuses: Readonly<Record<Health, HealthStatus>> = {
  Healthy: HealthStatus.HEALTHY,
  Unhealthy: HealthStatus.UNHEALTHY,
  Draining: HealthStatus.DRAINING,
  Terminating: HealthStatus.UNHEALTHY,
  Unknown: HealthStatus.UNKNOWN,
};

function filterMetadata(metadata: Record<string, JsonObject>): Metadata {
  return create(MetadataSchema, { filterMetadata: metadata });
}
