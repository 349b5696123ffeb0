import { query, type QueryContext } from "@istiod/incremental";
import {
  applicableAuthorizationPolicies,
  applicableTelemetry,
  destinationRuleFor,
  egressListeners,
  ingressListeners,
  outboundTraffic,
  type ScopedService,
  scopedService,
  type ScopeRef,
  scopeOf,
  listenerServices,
  serviceTargets,
  sidecarSpec,
  listenerVirtualServices,
} from "@istiod/push-context";
import { service, type Service } from "@istiod/service-discovery";
import { ruleForm, serviceForm, targetForm } from "./istio-forms.js";
import { plain } from "./plain.js";

/**
 * The part of the mesh that a client imports, in Istio's form (pilot/pkg/model/sidecar.go); `egress` and `ingress`
 * say through which listeners, and which VirtualServices: those are ours.
 */
export const sidecarScope = query("debug.sidecarScope", (q) => {
  const scope = scopeOf(q);
  const [sidecarNamespace = "", sidecarName = "default-sidecar"] = scope.sidecar?.split("/") ?? [scope.namespace];
  const imported = q.call(egressListeners, scope).map((_, listener) => importedBy(q, scope, listener));
  const services = [...new Set(imported.flat())];
  const rules = services.flatMap(({ hostname, namespace }) => {
    const rule = q.call(destinationRuleFor, { host: hostname, serviceNamespace: namespace });
    return rule === undefined ? [] : [[hostname, [ruleForm(rule)]] as const];
  });
  const sidecar = q.call(sidecarSpec, scope);
  return {
    name: sidecarName,
    namespace: sidecarNamespace,
    outboundTrafficPolicy: q.call(outboundTraffic, scope),
    services: services.map(serviceForm),
    egressListenerServices: imported.map((each) => each.map(serviceForm)),
    servicesByHostname: Object.fromEntries([...services].reverse().map((each) => [each.hostname, serviceForm(each)])),
    sidecar: sidecar === undefined ? null : plain(sidecar),
    destinationRules: Object.fromEntries(rules),
    egress: q.call(egressListeners, scope).map((listener, at) => ({
      ...listener,
      virtualServices: q.call(listenerVirtualServices, { scope, listener: at }),
    })),
    ingress: q.call(ingressListeners, scope),
  };
});

function importedBy(q: QueryContext, scope: ScopeRef, listener: number): readonly Service[] {
  return q
    .call(listenerServices, { scope, listener })
    .flatMap((scoped: ScopedService) => q.call(scopedService, scoped) ?? []);
}

/** The services that a client implements, with their ports. */
export const instances = query("debug.instances", (q) =>
  q.ask(serviceTargets).flatMap(({ service: id, port, targetPort }) => {
    const found = q.call(service, id);
    return found === undefined ? [] : [targetForm(found, port, targetPort)];
  }),
);

export const telemetryOfClient = query("debug.telemetry", (q) => q.call(applicableTelemetry));
export const authorizationOfClient = query("debug.authorization", (q) => q.call(applicableAuthorizationPolicies));
