import { isIPv6 } from "node:net";
import type { QueryContext } from "@istiod/incremental";
import { features, isProxylessGrpc } from "@istiod/push-context";
import { acceptsTunnels, type Endpoint, ISTIO_MUTUAL_TLS_MODE } from "@istiod/service-discovery";
import { opensTunnels } from "../../hbone.js";
import { connectOriginate } from "../../resource-names.js";
import { type EndpointMetadata, originalDestination, transportSocketMatch } from "./endpoint-metadata.js";

const managedLabel = "gateway.istio.io/managed";
const waypointController = "istio.io-mesh-controller";

/**
 * Reports whether the client reaches an endpoint through an HBONE tunnel: the client opens tunnels, the endpoint
 * accepts them, and mutual TLS without a tunnel is not possible or not preferred.
 */
export function usesHbone(q: QueryContext, endpoint: Endpoint): boolean {
  const accepted = endpoint.labels[managedLabel] === waypointController || acceptsTunnels(q, endpoint);
  if (!accepted || (endpoint.tlsMode === ISTIO_MUTUAL_TLS_MODE && !features.preferHbone(q))) return false;
  return opensTunnels(q) && !q.ask(isProxylessGrpc);
}

/** Returns the address of an endpoint that is reached through HBONE: the internal listener that opens tunnels. */
export function tunnelAddress(endpoint: Endpoint): TunnelAddress {
  return { listener: connectOriginate, endpoint: hostPort(endpoint) };
}

/** An internal listener and the id of an endpoint behind it. */
export interface TunnelAddress {
  readonly listener: string;
  readonly endpoint: string;
}

/** Returns the metadata that the internal listener and the cluster's transport sockets depend on. */
export function tunnelMetadata(endpoint: Endpoint): EndpointMetadata {
  return { [originalDestination]: { local: hostPort(endpoint) }, [transportSocketMatch]: { tunnel: "http" } };
}

function hostPort({ addresses: [address = ""], port }: Endpoint): string {
  return isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`;
}
