import { type GatewayObject, gateways, gatewaysByNamespace } from "@istiod/config-ingestion";
import { query, type QueryContext } from "@istiod/incremental";
import { service } from "@istiod/service-discovery";
import { oldestFirst } from "../authorization/oldest-first.js";
import { features } from "../mesh/features.js";
import { namespace as ownNamespace, proxyType, selects } from "../proxy/facts.js";
import { serviceTargets } from "../proxy/service-targets.js";
import type { BoundServer, MergedGateway } from "./gateway-server.js";
import { mergeServers } from "./merge-servers.js";

/** All Gateways that select the client, merged; undefined where it is no gateway proxy, or none selects it. */
export const mergedGateway = query("mergedGateway", (q): MergedGateway | undefined => {
  if (q.ask(proxyType) !== "router") return undefined;
  const selected = q.call(gatewayOrder, features.scopeGatewayToNamespace(q) ? q.ask(ownNamespace) : null).flatMap((key) => {
    const gateway = q.read(gateways, key);
    return gateway !== undefined && selects(q, gateway.spec.selector) ? [gateway] : [];
  });
  if (selected.length === 0) return undefined;
  return mergeServers(
    selected.map(({ namespace, name, spec }) => ({ namespace, name, servers: spec.servers, listenOn: (port) => [listeningPort(q, port)] })),
  );
});

/** The servers of the client that share a route configuration; undefined where there is none of the name. */
export const serversOfRoute = query("serversOfRoute", (q, routeName: string): readonly BoundServer[] | undefined =>
  q.call(mergedGateway)?.serversByRouteName[routeName],
);

/** Keys of all Gateways, or of one namespace's, the oldest first. */
const gatewayOrder = query("gatewayOrder", (q, namespace: string | null): readonly string[] => {
  const all: readonly GatewayObject[] = namespace === null ? q.all(gateways) : q.read(gatewaysByNamespace, namespace);
  return [...all].sort(oldestFirst).map((gateway) => `${gateway.namespace}/${gateway.name}`);
});

/** Opts a Service out of having its ports translated; Knative relies on it. */
const noTranslationLabel = "experimental.istio.io/disable-gateway-port-translation";

/** The target port of the first of the client's services with such a port, else the port itself. Source: `resolvePorts` of pilot/pkg/model/gateway.go. */
function listeningPort(q: QueryContext, port: number): number {
  const target = q
    .ask(serviceTargets)
    .find((candidate) => candidate.port.number === port && q.call(service, candidate.service)?.labels[noTranslationLabel] === undefined);
  return target?.targetPort ?? port;
}
