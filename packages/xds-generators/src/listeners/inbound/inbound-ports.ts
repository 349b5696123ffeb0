import { query, type QueryContext } from "@istiod/incremental";
import type { ServerTLSSettings } from "@istiod/istio-api/networking/v1alpha3/gateway";
import { CaptureMode } from "@istiod/istio-api/networking/v1alpha3/sidecar";
import {
  features,
  globalUnicastAddress,
  ingressListeners,
  interceptionMode,
  ipMode,
  namespace,
  scopeOf,
  serviceTargets,
} from "@istiod/push-context";
import {
  afterTlsTermination,
  keyOfId,
  parseProtocol,
  service,
  type ServicePort,
  type ServiceTarget,
  splitKey,
} from "@istiod/service-discovery";
import { canBindToPort } from "../bindable-port.js";
import { wildcards } from "../listener-address.js";

/** A port on which the client's workload receives connections. */
export interface InboundPort {
  /** The port that the workload listens on. */
  readonly targetPort: number;
  readonly servicePort: ServicePort;
  /** Primary address first; chains are named after it. */
  readonly binds: readonly string[];
  /** True if it has a listener of its own, rather than chains of `virtualInbound`. */
  readonly bindToPort: boolean;
  /** The service named in stats and traces, or a generated name for a port of a Sidecar. */
  readonly hostname: string;
  /** Id of that service; absent for a port of a Sidecar. */
  readonly service?: string;
  /** The Sidecar that declares the port, `namespace/name`. */
  readonly sidecar?: string;
  /** TLS that a Sidecar's ingress listener terminates if mutual TLS is disabled. */
  readonly tls?: ServerTLSSettings;
}

/**
 * The ports of the client's services, or of its Sidecar's ingress listeners. If several use one port, the first one
 * wins. Ascending.
 * Source: pilot/pkg/networking/core/listener_inbound.go, buildInboundChainConfigs.
 */
export const inboundPorts = query("inboundPorts", (q): readonly InboundPort[] => {
  const scope = scopeOf(q);
  const ingress = q.call(ingressListeners, scope);
  const ports = new Map<number, InboundPort>();
  const add = (port: InboundPort | undefined): void => {
    if (port !== undefined && !ports.has(port.targetPort)) ports.set(port.targetPort, port);
  };
  if (ingress.length === 0) {
    // Without redirection the workload itself listens on its ports.
    if (q.ask(interceptionMode) !== "NONE") for (const target of q.ask(serviceTargets)) add(inboundPortOf(q, target));
    return sortedByPort(ports);
  }
  if (features.sidecarServiceInboundListenerMerge(q)) {
    const declared = new Set(ingress.map(({ port }) => port?.number));
    for (const target of q.ask(serviceTargets)) if (!declared.has(target.targetPort)) add(inboundPortOf(q, target));
  }
  const sidecar = scope.sidecar ?? "";
  for (const { port, bind, captureMode, tls } of ingress) {
    if (port === undefined) continue;
    const bindToPort =
      captureMode === CaptureMode.DEFAULT ? q.ask(interceptionMode) === "NONE" : captureMode === CaptureMode.NONE;
    const protocol = parseProtocol(port.protocol);
    if (!canBindToPort(q, { port: port.number, protocol, bind, bindToPort, excludesCapturePorts: false })) continue;
    const ends = tls !== undefined && features.tlsOnSidecarIngress(q);
    add({
      targetPort: port.number,
      servicePort: { name: port.name, number: port.number, protocol: ends ? afterTlsTermination(protocol) : protocol },
      binds: bind !== "" ? [bind] : ownBinds(q),
      bindToPort,
      hostname: `${splitKey(sidecar)[1]}.${q.ask(namespace)}`,
      sidecar: `${q.ask(namespace)}/${splitKey(sidecar)[1]}`,
      ...(ends && { tls }),
    });
  }
  return sortedByPort(ports);
});

/**
 * Reports whether two services declare different protocols for one port of the client's workload, in which case the
 * older service's applies.
 */
export const hasInboundConflict = query("hasInboundConflict", (q): boolean => {
  const declared = new Set(q.call(ingressListeners, scopeOf(q)).map(({ port }) => port?.number));
  if (declared.size > 0 && !features.sidecarServiceInboundListenerMerge(q)) return false;
  return q.ask(serviceTargets).some((target) => {
    const port = declared.has(target.targetPort) ? undefined : inboundPortOf(q, target);
    const existing = port && q.call(inboundPorts).find(({ targetPort }) => targetPort === port.targetPort);
    return (
      existing !== undefined &&
      existing.servicePort.protocol !== port?.servicePort.protocol &&
      existing.hostname !== port?.hostname
    );
  });
});

function inboundPortOf(q: QueryContext, { service: id, port, targetPort }: ServiceTarget): InboundPort | undefined {
  const ports = q.call(service, id)?.ports ?? [];
  const servicePort =
    ports.find(({ name, number }) => name === port.name && number === port.number) ??
    ports.find(({ number }) => number === port.number);
  // No connection arrives at port 0, and a chain without a port would match all ports.
  if (servicePort === undefined || targetPort === 0) return undefined;
  const binds = wildcards[q.ask(ipMode)];
  const bindToPort = q.ask(interceptionMode) === "NONE";
  const binding = {
    port: targetPort,
    protocol: servicePort.protocol,
    bind: binds[0],
    bindToPort,
    excludesCapturePorts: true,
  };
  return canBindToPort(q, binding)
    ? { targetPort, servicePort, binds, bindToPort, hostname: splitKey(keyOfId(id))[1], service: id }
    : undefined;
}

function ownBinds(q: QueryContext): readonly string[] {
  const own = q.ask(globalUnicastAddress);
  return own === undefined ? wildcards[q.ask(ipMode)] : [own];
}

function sortedByPort(ports: ReadonlyMap<number, InboundPort>): readonly InboundPort[] {
  return [...ports.values()].sort((a, b) => a.targetPort - b.targetPort);
}
