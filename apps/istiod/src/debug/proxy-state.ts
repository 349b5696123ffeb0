import { authorizationPolicies } from "@istiod/config-ingestion";
import { query } from "@istiod/incremental";
import { applicableAuthorizationPolicies, applicableTelemetry, egressListeners, ingressListeners, outboundTraffic, scopeOf, servicesOf, serviceTargets, virtualServicesOf } from "@istiod/push-context";

/** The part of the mesh that a client imports, and through which listeners. */
export const sidecarScope = query("debug.sidecarScope", (q) => {
  const scope = scopeOf(q);
  return {
    scope,
    egress: q.call(egressListeners, scope).map((listener, at) => ({
      ...listener,
      services: q.call(servicesOf, { scope, listener: at }).map(({ hostname }) => hostname),
      virtualServices: q.call(virtualServicesOf, { scope, listener: at }),
    })),
    ingress: q.call(ingressListeners, scope),
    outboundTraffic: q.call(outboundTraffic, scope),
  };
});

/** The services that a client implements. */
export const instances = query("debug.instances", (q) => q.ask(serviceTargets));

export const telemetryOfClient = query("debug.telemetry", (q) => q.call(applicableTelemetry));
export const authorizationOfClient = query("debug.authorization", (q) => q.call(applicableAuthorizationPolicies));
export const allAuthorizationPolicies = query("debug.authorizationPolicies", (q) => q.all(authorizationPolicies));
