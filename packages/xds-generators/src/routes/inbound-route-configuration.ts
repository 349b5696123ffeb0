import { create, toBinary } from "@bufbuild/protobuf";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { VirtualHostSchema } from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import type { QueryContext } from "@istiod/incremental";
import { encodeMessageField, encodeStringField, joinEncoded } from "@istiod/protobuf-wire";
import type { Protocol } from "@istiod/service-discovery";
import { defaultInboundRoute } from "./route/default-route.js";

/** A port of the client's workload with HTTP routes. */
interface InboundPort {
  readonly cluster: string;
  /** The service port, which names the virtual host. */
  readonly port: number;
  readonly protocol: Protocol;
  /** The operation name in traces: `host:port/*`. */
  readonly operation: string;
  /** Accepted hosts; absent: any. */
  readonly domains?: readonly string[];
}

/**
 * Returns the inline route configuration of an inbound filter chain, encoded: all requests go to the workload's port.
 */
export function inboundRouteConfiguration(
  q: QueryContext,
  { cluster, port, protocol, operation, domains = ["*"] }: InboundPort,
): Uint8Array {
  const host = VirtualHostSchema.field;
  const { name, virtualHosts } = RouteConfigurationSchema.field;
  return joinEncoded([
    anyClusters,
    encodeStringField(name.number, cluster),
    encodeMessageField(virtualHosts.number, [
      encodeStringField(host.name.number, `inbound|http|${port}`),
      ...domains.map((domain) => encodeStringField(host.domains.number, domain)),
      encodeMessageField(host.routes.number, [defaultInboundRoute(q, cluster, operation, protocol)]),
    ]),
  ]);
}

const anyClusters = toBinary(RouteConfigurationSchema, create(RouteConfigurationSchema, { validateClusters: false }));
