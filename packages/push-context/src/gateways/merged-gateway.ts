import { type GatewayObject, gateways, gatewaysByNamespace } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { keyOfId, service, type ServiceTarget } from "@istiod/service-discovery";
import { oldestFirst } from "../authorization/oldest-first.js";
import { ingressGateways } from "../ingress/ingress-gateways.js";
import { features } from "../mesh/features.js";
import { namespace as ownNamespace, proxyType, selects } from "../proxy/facts.js";
import { serviceTargets } from "../proxy/service-targets.js";
import type { BoundServer, MergedGateway } from "./gateway-server.js";
import { mergeServers, type SelectedGateway } from "./merge-servers.js";

/** All Gateways that select the client, merged; undefined where it is no gateway proxy, or none selects it. */
export const mergedGateway = query("mergedGateway", (q): MergedGateway | undefined => {
  if (q.ask(proxyType) !== "router") return undefined;
  const selected = q
    .call(gatewayOrder, features.scopeGatewayToNamespace(q) ? q.ask(ownNamespace) : null)
    .flatMap((key) => {
      const gateway = q.call(gatewayObject, key);
      return gateway === undefined ? [] : (selection(q, gateway) ?? []);
    });
  const kept = features.strictGatewayMerging(q) ? withoutUnmanaged(selected) : selected;
  return kept.length === 0 ? undefined : mergeServers(kept.map(({ selected: gateway }) => gateway));
});

/**
 * Names the Services, by hostname, whose workloads a Gateway is for; what a Gateway of the Gateway API was translated
 * to has it.
 */
const servicesAnnotation = "internal.istio.io/gateway-service";
const parentNamespaceAnnotation = "internal.istio.io/parent-namespace";
const semanticsAnnotation = "internal.istio.io/gateway-semantics";
const serviceAccountAnnotation = "internal.istio.io/service-account-name";

interface Selection {
  readonly gateway: GatewayObject;
  readonly selected: SelectedGateway;
}

/** A Gateway as the client serves it; undefined where it is not meant for the client. */
function selection(q: QueryContext, gateway: GatewayObject): Selection | undefined {
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
        ...udp(q, own),
      },
    };
  }
  const owner = annotations[parentNamespaceAnnotation] || namespace;
  const keys = named.split(",").map((hostname) => `${owner}/${hostname}`);
  const targets = q.ask(serviceTargets).filter((target) => keys.includes(keyOfId(target.service)));
  if (targets.length === 0) return undefined;
  const listenOn = (port: number): readonly number[] => [
    ...new Set(targets.filter((target) => target.port.number === port).map((target) => target.targetPort)),
  ];
  return { gateway, selected: { namespace, name, servers: spec.servers, listenOn, ...udp(q, targets) } };
}

/** HTTP/3 is served where a Service brings UDP to the port, and only under `PILOT_ENABLE_QUIC_LISTENERS`. */
function udp(q: QueryContext, targets: readonly ServiceTarget[]): Pick<SelectedGateway, "takesUdp"> {
  if (!features.quicListeners(q)) return {};
  const isUdp = ({ service: id, port: { name, number } }: ServiceTarget): boolean =>
    q.call(service, id)?.ports.find((port) => port.name === name && port.number === number)?.protocol === "UDP";
  return { takesUdp: (port) => targets.some((target) => target.port.number === port && isUdp(target)) };
}

/**
 * Beside Gateways whose proxies Istio deploys, those of other namespaces do not count: they could reach credentials
 * there. Source: `filterStrictGatewayMerging`.
 */
function withoutUnmanaged(selections: readonly Selection[]): readonly Selection[] {
  const ofGatewayApi = ({ gateway }: Selection): boolean => gateway.annotations[semanticsAnnotation] === "gateway";
  const managed = new Set(
    selections
      .filter((each) => ofGatewayApi(each) && (each.gateway.annotations[serviceAccountAnnotation] ?? "") !== "")
      .map(({ gateway }) => gateway.namespace),
  );
  return managed.size === 0
    ? selections
    : selections.filter((each) => ofGatewayApi(each) || managed.has(each.gateway.namespace));
}

/** The servers of the client that share a route configuration; undefined where there is none of the name. */
export const serversOfRoute = query(
  "serversOfRoute",
  (q, routeName: string): readonly BoundServer[] | undefined => q.call(mergedGateway)?.serversByRouteName[routeName],
);

/** The Gateway `namespace/name`; one that stands for an Ingress if nobody declared it. */
export const gatewayObject = query(
  "gatewayObject",
  (q, key: string): GatewayObject | undefined => q.read(gateways, key) ?? q.call(ingressGateways)[key],
);

/**
 * Keys of all Gateways, or of one namespace's, the oldest first; those that stand for Ingresses have no age and come
 * before all others.
 */
const gatewayOrder = query("gatewayOrder", (q, namespace: string | null): readonly string[] => {
  const declared: readonly GatewayObject[] =
    namespace === null ? q.all(gateways) : q.read(gatewaysByNamespace, namespace);
  const ofIngresses = Object.values(q.call(ingressGateways)).filter(
    (gateway) => namespace === null || gateway.namespace === namespace,
  );
  const keys = [...ofIngresses, ...declared].sort(oldestFirst).map((gateway) => `${gateway.namespace}/${gateway.name}`);
  return [...new Set(keys)];
});

/** Opts a Service out of having its ports translated; Knative relies on it. */
const noTranslationLabel = "experimental.istio.io/disable-gateway-port-translation";

/**
 * The target port of the first of the client's services with such a port, else the port itself. Source: `resolvePorts`
 * of pilot/pkg/model/gateway.go.
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
