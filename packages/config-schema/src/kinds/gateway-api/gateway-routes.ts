import { collection, type Collection } from "@istiod/incremental";
import { meshKey, type ConfigObject } from "../../config-object.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { isIstioKey } from "../istio/istio-keys.js";
import { declareKind, type Kind } from "../kind.js";

/** A route or another object of the Gateway API, of which only the conditions are read. */
export type GatewayRouteObject = ConfigObject<Readonly<Record<string, never>>>;

/** HTTPRoutes of the config cluster, by `ns/name`. */
export const kubernetesHttpRoutes = collection<GatewayRouteObject>("HTTPRoute", { filter: discoveryNamespacesFilter });

/** GRPCRoutes of the config cluster, by `ns/name`. */
export const kubernetesGrpcRoutes = collection<GatewayRouteObject>("GRPCRoute", { filter: discoveryNamespacesFilter });

export const kubernetesHttpRouteKind = routeKind(kubernetesHttpRoutes, ["v1", "v1beta1", "v1alpha2"]);
export const kubernetesGrpcRouteKind = routeKind(kubernetesGrpcRoutes, ["v1", "v1alpha2"]);

export const tcpRouteKind = routeKind(objectsOf("TCPRoute"), ["v1", "v1alpha2"]);
export const tlsRouteKind = routeKind(objectsOf("TLSRoute"), ["v1", "v1alpha3", "v1alpha2"]);

/** Read to report that it has no effect. */
export const udpRouteKind = routeKind(objectsOf("UDPRoute"), ["v1", "v1alpha2"]);

/** Read to report that it has no effect. */
export const experimentalListenerSetKind = routeKind(
  objectsOf("XListenerSet"),
  ["v1alpha1"],
  "gateway.networking.x-k8s.io",
);

function objectsOf(kind: string): Collection<GatewayRouteObject> {
  return collection<GatewayRouteObject>(kind, { filter: discoveryNamespacesFilter });
}

function routeKind(
  of: Collection<GatewayRouteObject>,
  versions: readonly string[],
  group = "gateway.networking.k8s.io",
): Kind {
  return declareKind<Readonly<Record<string, never>>, undefined>({
    kind: of.name,
    group,
    versions,
    scope: "namespaced",
    nameRule: "mixedCaseSubdomain",
    collection: of,
    labels: isIstioKey,
    annotations: isIstioKey,
    conditions: ["Accepted", "Programmed", "ResolvedRefs"],
    fields: {},
    key: meshKey,
    decode: () => ({ spec: {} }),
  });
}
