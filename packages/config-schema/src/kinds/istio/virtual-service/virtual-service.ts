import { collection, index } from "@istiod/incremental";
import {
  L4MatchAttributesSchema,
  TLSMatchAttributesSchema,
  VirtualServiceSchema,
  type VirtualService,
} from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import type { ConfigObject } from "../../../config-object.js";
import { discoveryNamespacesFilter } from "../../../mesh/discovered-namespaces.js";
import { checkExportTo } from "../../../validation/export-to.js";
import { overlaps } from "../../../validation/network/hosts.js";
import { isIpAddress } from "../../../validation/network/ip.js";
import { each, type Place } from "../../../validation/place.js";
import { checkPatterns, checkProduct } from "../../../validation/products.js";
import { required, type Shape } from "../../../validation/shape.js";
import { istioKind } from "../istio-kind.js";
import { copiedBytes, copiedBytesBound } from "./copied-bytes.js";
import { checkGatewayNames } from "./gateway-names.js";
import { checkHttpRoute } from "./http-route.js";
import { checkTcpRoute, checkTlsRoute } from "./l4-routes.js";
import { patternsOf } from "./patterns.js";
import { warnOfUnreachable, warnOfUnreachableHttp } from "./reachability.js";
import { warnOfRewrittenPaths } from "./rewritten-path.js";
import { warnOfShadowedRoutes } from "./shadowed-routes.js";
import { virtualHostFault } from "./virtual-host.js";
import { statedWeights } from "./weights.js";

export type VirtualServiceObject = ConfigObject<VirtualService>;

export const virtualServices = collection<VirtualServiceObject>("VirtualService", {
  filter: discoveryNamespacesFilter,
});

/**
 * VirtualServices by the gateway that they are bound to: `mesh`, or `ns/name`. Default `mesh`. Delegates are in no
 * bucket.
 */
export const virtualServicesByGateway = index(virtualServices, "byGateway", (v) => {
  if (v.spec.hosts.length === 0) return [];
  return v.spec.gateways.length === 0 ? ["mesh"] : v.spec.gateways.map((name) => gatewayName(name, v.namespace));
});

export const virtualServicesByNamespace = index(virtualServices, "byNamespace", (v) => [v.namespace]);

/**
 * Returns the `ns/name` of a gateway that a VirtualService names. A bare name and `./name` are of its own namespace;
 * `mesh` is returned unchanged.
 */
export function gatewayName(name: string, namespace: string): string {
  if (name === "mesh") return name;
  const slash = name.indexOf("/");
  if (slash < 0) return `${namespace}/${name}`;
  return name.slice(0, slash) === "." ? `${namespace}/${name.slice(slash + 1)}` : name;
}

const shape: Shape = {
  "http[].directResponse": required("status"),
  "http[].mirror": required("host"),
  "http[].mirrors[]": required("destination"),
  "http[].mirrors[].destination": required("host"),
  "http[].route": statedWeights,
  "http[].route[].destination": required("host"),
  "tcp[].route": statedWeights,
  "tcp[].route[].destination": required("host"),
  "tls[].route": statedWeights,
  "tls[].route[].destination": required("host"),
};

export const virtualServiceKind = istioKind({
  kind: "VirtualService",
  group: "networking.istio.io",
  versions: ["v1", "v1beta1", "v1alpha3"],
  schema: VirtualServiceSchema,
  collection: virtualServices,
  shape,
  validate,
});

/** Validates a spec as Istio's `ValidateVirtualService` does. */
function validate({ spec, namespace }: VirtualServiceObject, place: Place): void {
  const { hosts, gateways, http, tls, tcp } = spec;
  const delegate = hosts.length === 0;
  if (delegate) {
    for (const field of ["gateways", "tls", "tcp"] as const)
      if (spec[field].length > 0)
        place.at(field).error("is set, expected none without hosts: the VirtualService is one to delegate to");
  }
  checkGatewayNames(gateways, place.at("gateways"));
  const toGateway = gateways.length > 0 && !gateways.includes("mesh");
  checkHosts(spec, toGateway, place.at("hosts"));
  if (http.length === 0 && tls.length === 0 && tcp.length === 0)
    place.error("has no routes, expected http, tls or tcp");
  if (!checkPatterns(patternsOf(http), Math.max(1, hosts.length), place.at("http"))) return;
  each(http, place.at("http"), (route, at) => checkHttpRoute(route, { delegate, toGateway }, at));
  each(tls, place.at("tls"), (route, at) => checkTlsRoute(route, spec, !gateways.includes("mesh"), at));
  each(tcp, place.at("tcp"), checkTcpRoute);
  checkExportTo(spec.exportTo, namespace, place.at("exportTo"));
  checkProducts(spec, place);
  warnOfUnreachableHttp(http, place.at("http"));
  warnOfShadowedRoutes(http, place.at("http"));
  warnOfRewrittenPaths(http, place.at("http"));
  warnOfUnreachable(TLSMatchAttributesSchema, tls, place.at("tls"));
  warnOfUnreachable(L4MatchAttributesSchema, tcp, place.at("tcp"));
}

/** Bounds hosts × routes: a host has each match of each route, at each port. */
function checkProducts({ hosts, http, tls, tcp }: VirtualService, place: Place): void {
  const hostCount = Math.max(1, hosts.length);
  const matches = http.reduce((sum, { match }) => sum + Math.max(1, match.length), 0);
  checkProduct(
    "routes",
    "routes",
    [
      ["hosts", hostCount],
      ["matches of http routes", matches],
    ],
    place.at("http"),
  );
  if (hostCount * copiedBytesBound(http) > place.bounds.bytes)
    checkProduct(
      "bytes",
      "bytes",
      [
        ["hosts", hostCount],
        ["bytes of http routes", copiedBytes(http)],
      ],
      place.at("http"),
    );
  const chains = [
    ...tls.map(({ match }) =>
      match.reduce((sum, { destinationSubnets }) => sum + Math.max(1, destinationSubnets.length), 0),
    ),
    ...tcp.map(({ match }) => Math.max(1, match.length)),
  ].reduce((sum, count) => sum + Math.max(1, count), 0);
  checkProduct(
    "chains",
    "filter chains",
    [
      ["hosts", hostCount],
      ["matches of tls and tcp routes", chains],
    ],
    place,
  );
}

function checkHosts({ hosts, tls }: VirtualService, toGateway: boolean, place: Place): void {
  const hasSni = tls.some((route) => route.match.some((m) => m.sniHosts.length > 0));
  let sound = true;
  each(hosts, place, (host, at) => {
    const fault = virtualHostFault(host, toGateway && hasSni);
    if (fault === undefined ? toGateway || host !== "*" : isIpAddress(host)) return;
    sound = false;
    at.error(fault ?? 'is "*", expected a host: in the mesh a route is not for every host');
  });
  if (!sound) return;
  for (const [later, earlier] of overlaps(hosts))
    place.at(later).error(`is ${JSON.stringify(hosts[later])}, which overlaps ${JSON.stringify(hosts[earlier])}`);
}
