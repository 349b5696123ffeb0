import { query, type QueryContext } from "@istiod/incremental";
import {
  DISABLED_TLS_MODE,
  endpointSource,
  type EndpointSource,
  inlineEndpoints,
  type Service,
  type ServicePort,
} from "@istiod/service-discovery";
import { namespaceMutualTlsMode } from "./peer.js";
import type { MutualTlsMode } from "./mutual-tls-mode.js";

/**
 * Returns the mutual TLS mode that clients assume for a service's port if no DestinationRule sets TLS: that of its
 * namespace, since a client cannot know which workload it reaches. UNKNOWN for services outside of the mesh. If
 * connections go to an address that the application chose (`passthrough`: a headless service, or load balancing
 * PASSTHROUGH), every endpoint must support mutual TLS. Source: pilot/pkg/model/push_context.go,
 * BestEffortInferServiceMTLSMode.
 */
export function serviceMutualTlsMode(
  q: QueryContext,
  service: Service,
  port: ServicePort,
  passthrough: boolean,
): MutualTlsMode {
  if (service.meshExternal) return "UNKNOWN";
  if (
    (passthrough || service.resolution === "Passthrough") &&
    !q.call(allEndpointsSupportTls, { ...endpointSource(service), port: { name: port.name, number: port.number } })
  )
    return "DISABLE";
  const mode = q.call(namespaceMutualTlsMode, service.namespace);
  return mode === "UNKNOWN" ? "PERMISSIVE" : mode;
}

/**
 * Reports whether the port has endpoints and all of them support mutual TLS. Endpoints of ServiceEntries are found by
 * port number, regardless of the port's name.
 */
const allEndpointsSupportTls = query(
  "allEndpointsSupportTls",
  (q, target: EndpointSource & { readonly port: { readonly name: string; readonly number: number } }): boolean => {
    const found = q.call(inlineEndpoints, target);
    return found.length > 0 && found.every((endpoint) => endpoint.tlsMode !== DISABLED_TLS_MODE);
  },
);
