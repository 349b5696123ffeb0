import { create, toBinary } from "@bufbuild/protobuf";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { VirtualHostSchema } from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import type { QueryContext } from "@istiod/incremental";
import type { Protocol } from "@istiod/service-discovery";
import { concatBytes, encodeMessageField, encodeStringField } from "../encoding/encode.js";
import { defaultInboundRoute } from "./route/default-route.js";

/** One port of the own workload whose requests are routed. */
interface InboundPort {
  readonly cluster: string;
  /** The number that names the virtual host: the service's port. */
  readonly port: number;
  readonly protocol: Protocol;
  /** How traces name requests: `host:port/*`. */
  readonly operation: string;
  /** Hosts that are accepted; absent: any. */
  readonly domains?: readonly string[];
}

/** The route configuration that an inbound filter chain holds, encoded: everything to the workload's port. */
export function inboundRouteConfiguration(
  q: QueryContext,
  { cluster, port, protocol, operation, domains = ["*"] }: InboundPort,
): Uint8Array {
  const host = VirtualHostSchema.field;
  const { name, virtualHosts } = RouteConfigurationSchema.field;
  return concatBytes([
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
