import { create } from "@bufbuild/protobuf";
import { type RouteConfiguration, RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import type { QueryContext } from "@istiod/incremental";
import type { Protocol } from "@istiod/service-discovery";
import { defaultInboundRoute } from "./default-route.js";

/** One port of the own workload whose requests are routed. */
export interface InboundPort {
  readonly cluster: string;
  /** The number that names the virtual host: the service's port. */
  readonly port: number;
  readonly protocol: Protocol;
  /** How traces name requests: `host:port/*`. */
  readonly operation: string;
  /** Hosts that are accepted; absent: any. */
  readonly domains?: readonly string[];
}

/** The route configuration that an inbound filter chain holds: everything to the workload's port. */
export function inboundRouteConfiguration(q: QueryContext, { cluster, port, protocol, operation, domains = ["*"] }: InboundPort): RouteConfiguration {
  return create(RouteConfigurationSchema, {
    name: cluster,
    virtualHosts: [{ name: `inbound|http|${port}`, domains: [...domains], routes: [defaultInboundRoute(q, cluster, operation, protocol)] }],
    validateClusters: false,
  });
}
