import { isIP } from "node:net";
import type { QueryContext } from "@istiod/incremental";
import type { DestinationRule } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { askMetadata, cluster, features, inCluster, subsetPolicy, findSubset } from "@istiod/push-context";
import {
  type Endpoint,
  type GatewayForm,
  hasLabels,
  hasNetworkGateways,
  isClusterLocal,
  type Labels,
  type Service,
} from "@istiod/service-discovery";
import type { EndpointTarget } from "../endpoint-target.js";

/**
 * Returns the endpoints of a target that the client is sent. Source: pilot/pkg/xds/endpoints/endpoint_builder.go,
 * filterIstioEndpoint.
 */
export function visibleEndpoints(
  q: QueryContext,
  target: EndpointTarget,
  rule: DestinationRule | undefined,
  all: readonly Endpoint[],
  gatewayForm: GatewayForm,
): readonly Endpoint[] {
  const selector = subsetLabels(rule, target.subset);
  const found = all.filter(({ labels }) => hasLabels(labels, selector));
  if (found.length === 0) return [];
  const sendsUnhealthy = sendsUnhealthyEndpoints(q, target, rule);
  const { service } = target;
  const persistent = (service.labels[features.persistentSessionLabel(q)] ?? "") !== "";
  const inView = visibilityFilter(q, service, found);
  const gateways = q.call(hasNetworkGateways, gatewayForm);
  return found.filter((endpoint) => {
    if (endpoint.health === "Terminating" || (endpoint.health === "Unhealthy" && !sendsUnhealthy)) return false;
    if (isDraining(q, endpoint) && !persistent) return false;
    if ((endpoint.addresses[0] ?? "") === "" && !gateways) return false;
    return inView(endpoint);
  });
}

/**
 * Reports whether an EDS cluster can use an endpoint's address: an IP address, the path of a socket, or none if a
 * gateway leads to it.
 */
export function hasUsableAddress({ addresses: [address = ""], port }: Endpoint): boolean {
  return address === "" || port === 0 || isIP(address) !== 0;
}

/** Reports whether an endpoint accepts no new sessions, by its health or by a label. */
export function isDraining(q: QueryContext, { health, labels }: Endpoint): boolean {
  const label = features.drainingLabel(q);
  return health === "Draining" || (label !== "" && (labels[label] ?? "") !== "");
}

/** Reports whether unhealthy endpoints are sent by default, so that Envoy knows how many are healthy. */
function supportsUnhealthyEndpoints(q: QueryContext, service: Service): boolean {
  return features.autoSendUnhealthyEndpoints(q) || forcesUnhealthyEndpoints(q, service);
}

function forcesUnhealthyEndpoints(q: QueryContext, { trafficDistribution }: Service): boolean {
  return trafficDistribution !== "Any" || features.sendUnhealthyEndpoints(q);
}

/**
 * Reports whether unhealthy endpoints are sent. With `minHealthPercent` they are not, since Envoy would use them in
 * panic mode.
 */
function sendsUnhealthyEndpoints(
  q: QueryContext,
  { service, subset, port }: EndpointTarget,
  rule: DestinationRule | undefined,
): boolean {
  if (forcesUnhealthyEndpoints(q, service)) return true;
  if (!supportsUnhealthyEndpoints(q, service)) return false;
  const policy = subsetPolicy(rule?.trafficPolicy, findSubset(rule, subset)?.trafficPolicy, port.number);
  return (policy?.outlierDetection?.minHealthPercent ?? 0) <= 0;
}

/**
 * Returns a predicate for the endpoints visible to the client by node, cluster and network. Reads only the facts that
 * matter here.
 */
function visibilityFilter(
  q: QueryContext,
  service: Service,
  found: readonly Endpoint[],
): (endpoint: Endpoint) => boolean {
  const clusterOnly = q.call(isClusterLocal, service.hostname) || service.nodeLocal;
  const ownCluster = clusterOnly ? q.ask(cluster) : undefined;
  const node = service.nodeLocal ? (askMetadata(q, "NODE_NAME") ?? "") : undefined;
  const networks = found.some(({ network }) => network !== "") ? (askMetadata(q, "REQUESTED_NETWORK_VIEW") ?? []) : [];
  return (endpoint) =>
    (ownCluster === undefined || endpoint.cluster === ownCluster) &&
    (endpoint.sameClusterOnly === undefined || q.ask(inCluster, endpoint.cluster)) &&
    (node === undefined || endpoint.nodeName === node) &&
    (networks.length === 0 || endpoint.network === "" || networks.includes(endpoint.network));
}

function subsetLabels(rule: DestinationRule | undefined, subset: string): Labels {
  return subset === "" ? {} : (findSubset(rule, subset)?.labels ?? {});
}
