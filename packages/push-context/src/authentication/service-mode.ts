import { query, type QueryContext } from "@istiod/incremental";
import { DISABLED_TLS_MODE, inlineEndpoints, type Service, type ServicePort } from "@istiod/service-discovery";
import { namespaceMutualTlsMode } from "./peer.js";
import type { MutualTlsMode } from "./mutual-tls-mode.js";

/**
 * The mutual TLS that clients expect of a service's port when no DestinationRule sets TLS: as its namespace and the
 * mesh say, since a client cannot know which workload answers. Services outside of the mesh have none (UNKNOWN). Where
 * connections pass through to an address of the application's choice (`passthrough`: a headless service, or load
 * balancing PASSTHROUGH), every endpoint must take it. Source: pilot/pkg/model/push_context.go,
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
    !q.call(everyEndpointTakesTls, { service: service.key, port: { name: port.name, number: port.number } })
  )
    return "DISABLE";
  const mode = q.call(namespaceMutualTlsMode, service.namespace);
  return mode === "UNKNOWN" ? "PERMISSIVE" : mode;
}

/**
 * The endpoints of all that declares the host: those of ServiceEntries are found by the port's number, whatever each
 * calls it.
 */
const everyEndpointTakesTls = query(
  "everyEndpointTakesTls",
  (
    q,
    target: { readonly service: string; readonly port: { readonly name: string; readonly number: number } },
  ): boolean => {
    const found = q.call(inlineEndpoints, target);
    return found.length > 0 && found.every((endpoint) => endpoint.tlsMode !== DISABLED_TLS_MODE);
  },
);
