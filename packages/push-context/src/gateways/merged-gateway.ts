import { type GatewayObject, gateways, gatewaysByNamespace } from "@istiod/config-schema";
import { gatewayApiGateways } from "@istiod/gateway-api";
import { query, type QueryContext } from "@istiod/incremental";
import { keyOfId, service, type ServiceTarget } from "@istiod/service-discovery";
import { oldestFirst } from "../attachment/oldest-first.js";
import { ingressGateways } from "../ingress/ingress-gateways.js";
import { features } from "../mesh/features.js";
import { namespace as ownNamespace, proxyType, selects } from "../proxy/facts.js";
import { serviceTargets } from "../proxy/service-targets.js";
import { serviceAccountOf, workloadNamespaceOf } from "./gateway-identity.js";
import type { BoundServer, MergedGateway } from "./gateway-server.js";
import type { SelectedGateway } from "./bound-server.js";
import { mergeServers } from "./merge-servers.js";

/** All Gateways that select the client, merged; undefined if the client is not a gateway proxy or none selects it. */
export const mergedGateway = query("mergedGateway", (q): MergedGateway | undefined => {
  if (q.ask(proxyType) !== "router") return undefined;
  const selected = q
    .call(gatewayOrder, features.scopeGatewayToNamespace(q) ? q.ask(ownNamespace) : null)
    .flatMap((key) => {
      const gateway = q.call(gatewayObject, key);
      return gateway === undefined ? [] : (selectGateway(q, gateway) ?? []);
    });
  const kept = features.strictGatewayMerging(q) ? withoutUnmanaged(selected) : selected;
  return kept.length === 0 ? undefined : mergeServers(kept.map(({ selected: gateway }) => gateway));
});

/**
 * Annotation of Gateways generated from the Gateway API: hostnames of the Services whose workloads serve the Gateway.
 */
const servicesAnnotation = "internal.istio.io/gateway-service";
const semanticsAnnotation = "internal.istio.io/gateway-semantics";

/** Reports whether a Gateway selects the workloads of Services, instead of those with labels. */
export function selectsByServices({ annotations }: GatewayObject): boolean {
  return annotations[servicesAnnotation] !== undefined;
}

interface Selection {
  readonly gateway: GatewayObject;
  readonly selected: SelectedGateway;
}

/** Returns a Gateway with its listening ports on the client; undefined if it does not select the client. */
function selectGateway(q: QueryContext, gateway: GatewayObject): Selection | undefined {
  const { namespace, name, spec, annotations } = gateway;
  const named = annotations[servicesAnnotation];
  if (named === undefined) {
    if (!selects(q, spec.selector)) return undefined;
    const own = q.ask(serviceTargets);
    return {
      gateway,
      selected: {
        namespace,
        name,
        servers: spec.servers,
        listenOn: (port) => [listeningPort(q, port)],
        ...udpPorts(q, own),
      },
    };
  }
  const owner = workloadNamespaceOf(gateway);
  const keys = named.split(",").map((hostname) => `${owner}/${hostname}`);
  const targets = q.ask(serviceTargets).filter((target) => keys.includes(keyOfId(target.service)));
  if (targets.length === 0) return undefined;
  const listenOn = (port: number): readonly number[] => [
    ...new Set(targets.filter((target) => target.port.number === port).map((target) => target.targetPort)),
  ];
  return { gateway, selected: { namespace, name, servers: spec.servers, listenOn, ...udpPorts(q, targets) } };
}

/** Returns the predicate of ports that receive UDP. HTTP/3 is served only under `PILOT_ENABLE_QUIC_LISTENERS`. */
function udpPorts(q: QueryContext, targets: readonly ServiceTarget[]): Pick<SelectedGateway, "receivesUdp"> {
  if (!features.quicListeners(q)) return {};
  const isUdp = ({ service: id, port: { name, number } }: ServiceTarget): boolean =>
    q.call(service, id)?.ports.find((port) => port.name === name && port.number === number)?.protocol === "UDP";
  return { receivesUdp: (port) => targets.some((target) => target.port.number === port && isUdp(target)) };
}

/**
 * Drops Gateways of other namespaces if the proxy serves Gateways that Istio deploys (managed gateways), because they
 * could refer to credentials there. Source: `filterStrictGatewayMerging`.
 */
function withoutUnmanaged(selections: readonly Selection[]): readonly Selection[] {
  const isFromGatewayApi = ({ gateway }: Selection): boolean => gateway.annotations[semanticsAnnotation] === "gateway";
  const managed = new Set(
    selections
      .filter((each) => isFromGatewayApi(each) && serviceAccountOf(each.gateway) !== "")
      .map(({ gateway }) => gateway.namespace),
  );
  return managed.size === 0
    ? selections
    : selections.filter((each) => isFromGatewayApi(each) || managed.has(each.gateway.namespace));
}

/** The client's servers that share a route configuration; undefined if there is none with this name. */
export const serversOfRoute = query(
  "serversOfRoute",
  (q, routeName: string): readonly BoundServer[] | undefined => q.call(mergedGateway)?.serversByRouteName[routeName],
);

/** The Gateway `namespace/name`, declared or else generated from the Gateway API or an Ingress. */
export const gatewayObject = query(
  "gatewayObject",
  (q, key: string): GatewayObject | undefined =>
    q.read(gateways, key) ?? q.call(gatewayApiGateways)[key] ?? q.call(ingressGateways)[key],
);

/**
 * Keys of all Gateways, or of one namespace's, oldest first. Gateways generated from Ingresses have creation time 0 and
 * sort first.
 */
const gatewayOrder = query("gatewayOrder", (q, namespace: string | null): readonly string[] => {
  const declared: readonly GatewayObject[] =
    namespace === null ? q.all(gateways) : q.read(gatewaysByNamespace, namespace);
  const derived = [...Object.values(q.call(ingressGateways)), ...Object.values(q.call(gatewayApiGateways))].filter(
    (gateway) => namespace === null || gateway.namespace === namespace,
  );
  const keys = [...derived, ...declared].sort(oldestFirst).map((gateway) => `${gateway.namespace}/${gateway.name}`);
  return [...new Set(keys)];
});

/** Label that disables port translation for a Service; Knative relies on it. */
const noTranslationLabel = "experimental.istio.io/disable-gateway-port-translation";

/**
 * Returns the target port of the client's first service with this port, else the port itself. Source: `resolvePorts` in
 * pilot/pkg/model/gateway.go.
 */
function listeningPort(q: QueryContext, port: number): number {
  const target = q
    .ask(serviceTargets)
    .find(
      (candidate) =>
        candidate.port.number === port && q.call(service, candidate.service)?.labels[noTranslationLabel] === undefined,
    );
  return target?.targetPort ?? port;
}
