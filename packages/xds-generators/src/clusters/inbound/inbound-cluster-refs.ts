import { isIPv4, isIPv6 } from "node:net";
import { query, type QueryContext } from "@istiod/incremental";
import { MeshConfig_InboundTrafficPolicy_Mode } from "@istiod/istio-api/mesh/v1alpha1/config";
import type { IstioIngressListener } from "@istiod/istio-api/networking/v1alpha3/sidecar";
import {
  features,
  ingressListeners,
  interceptionMode,
  ipAddresses,
  ipMode,
  mesh,
  namespace,
  scopeOf,
  serviceTargets,
} from "@istiod/push-context";
import {
  keyOfId,
  parseProtocol,
  service,
  type ServicePort,
  type ServiceTarget,
  splitKey,
} from "@istiod/service-discovery";
import { unixPrefix } from "../../envoy/address.js";
import type { InboundClusterRef } from "./inbound-cluster.js";

/**
 * The inbound clusters of the client: one for each port of its services, or for each ingress listener of its Sidecar.
 */
export const inboundClusterRefs = query("inboundClusterRefs", (q): readonly InboundClusterRef[] => {
  const scope = scopeOf(q);
  const ingress = q.call(ingressListeners, scope);
  const targets = q.ask(serviceTargets);
  // Without redirection the workload itself listens on these ports.
  if (ingress.length === 0) return q.ask(interceptionMode) === "NONE" ? [] : refsOfServices(q, targets, new Set());
  const declared = new Set(ingress.map((listener) => listener.port?.number ?? 0));
  const merged = features.sidecarServiceInboundListenerMerge(q) ? refsOfServices(q, targets, declared) : [];
  return [
    ...merged,
    ...ingress.flatMap((listener) => refsOfIngressListener(q, listener, targets, scope.sidecar ?? "")),
  ];
});

function refsOfServices(
  q: QueryContext,
  targets: readonly ServiceTarget[],
  except: ReadonlySet<number>,
): readonly InboundClusterRef[] {
  const byPort = new Map<number, ServiceTarget[]>();
  for (const target of targets) {
    if (except.has(target.targetPort)) continue;
    const group = byPort.get(target.targetPort);
    if (group === undefined) byPort.set(target.targetPort, [target]);
    else group.push(target);
  }
  const localhost = mesh(q).inboundTrafficPolicy?.mode === MeshConfig_InboundTrafficPolicy_Mode.LOCALHOST;
  const bind = localhost ? (q.ask(ipMode) === "IPv6" ? "::1" : "127.0.0.1") : "";
  return [...byPort].flatMap(([port, group]) => {
    const servicePort = group[0] && servicePortOf(q, group[0]);
    if (servicePort === undefined) return [];
    const services = firstPerHost(
      group.filter((target) => target.port.number === servicePort.number).map((target) => target.service),
    );
    return [{ port, bind, targetPort: port, servicePort, services, fallbackHost: "" }];
  });
}

/** Returns the first service of each host, since a service with several addresses counts once. */
function firstPerHost(services: readonly string[]): readonly string[] {
  const byHost = new Map<string, string>();
  for (const id of services) {
    const [, hostname] = splitKey(keyOfId(id));
    if (!byHost.has(hostname)) byHost.set(hostname, id);
  }
  return [...byHost.values()];
}

function refsOfIngressListener(
  q: QueryContext,
  listener: IstioIngressListener,
  targets: readonly ServiceTarget[],
  sidecar: string,
): readonly InboundClusterRef[] {
  if (listener.port === undefined) return [];
  const { number, name, protocol } = listener.port;
  const endpoint = parseEndpoint(listener.defaultEndpoint);
  if (endpoint === undefined) return [];
  const target = targets.find((candidate) => candidate.targetPort === number);
  const [, sidecarName = ""] = sidecar.split("/");
  return [
    {
      port: number,
      bind: endpoint.host.startsWith(unixPrefix) ? endpoint.host : endpointAddress(q, endpoint.host),
      targetPort: endpoint.port,
      servicePort: { name, number, protocol: parseProtocol(protocol) },
      services: target === undefined ? [] : [target.service],
      fallbackHost:
        target === undefined && mesh(q).inboundClusterStatName !== "" ? `${sidecarName}.${q.ask(namespace)}` : "",
    },
  ];
}

/** Parses a path or a host and port; both are empty for an empty endpoint. Returns undefined for an invalid one. */
function parseEndpoint(endpoint: string): { readonly host: string; readonly port: number } | undefined {
  if (endpoint === "" || endpoint.startsWith(unixPrefix)) return { host: endpoint, port: 0 };
  const match = /^(?:\[([^\]]*)\]|([^:]*)):(\d+)$/.exec(endpoint);
  return match === null ? undefined : { host: match[1] ?? match[2] ?? "", port: Number(match[3]) };
}

/**
 * Returns the address that a Sidecar's default endpoint means: the workload's own for an unspecified one, or loopback,
 * in the requested family if the client has it. Empty for any other: the original destination.
 */
function endpointAddress(q: QueryContext, host: string): string {
  switch (host) {
    case "0.0.0.0":
      return q.ask(ipAddresses).find((own) => isIPv4(own)) ?? "127.0.0.1";
    case "::":
      return q.ask(ipAddresses).find((own) => isIPv6(own)) ?? "::1";
    case "127.0.0.1":
      return q.ask(ipMode) === "IPv6" ? "::1" : "127.0.0.1";
    case "::1":
      return q.ask(ipMode) === "IPv4" ? "127.0.0.1" : "::1";
    default:
      return "";
  }
}

function servicePortOf(q: QueryContext, { service: id, port }: ServiceTarget): ServicePort | undefined {
  const ports = q.call(service, id)?.ports ?? [];
  return (
    ports.find(({ name, number }) => name === port.name && number === port.number) ??
    ports.find(({ number }) => number === port.number)
  );
}
