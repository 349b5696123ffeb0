import type {
  TCPRoute,
  TLSMatchAttributes,
  TLSRoute,
  VirtualService,
} from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { checkPort, checkSubnet } from "../../../validation/network/addresses.js";
import { isSubsetOf } from "../../../validation/network/hosts.js";
import { isIpAddress } from "../../../validation/network/ip.js";
import { checkLabels } from "../../../validation/network/names.js";
import { each, type Place } from "../../../validation/place.js";
import { checkGatewayNames } from "./gateway-names.js";
import { virtualHostFault } from "./virtual-host.js";
import { checkWeights } from "./weights.js";

export function checkTlsRoute(route: TLSRoute, virtualService: VirtualService, toGateway: boolean, place: Place): void {
  if (route.match.length === 0) place.at("match").error("is empty, expected a match with sniHosts");
  each(route.match, place.at("match"), (match, at) => {
    if (match.sniHosts.length === 0) at.at("sniHosts").error("is empty, expected at least one host");
    each(match.sniHosts, at.at("sniHosts"), (host, hostPlace) =>
      checkSniHost(host, virtualService, toGateway, hostPlace),
    );
    checkL4Match(match, at);
  });
  if (route.route.length === 0) place.at("route").error("is empty, expected a destination");
  checkWeights(route.route, place.at("route"));
}

export function checkTcpRoute(route: TCPRoute, place: Place): void {
  each(route.match, place.at("match"), checkL4Match);
  if (route.route.length === 0) place.at("route").error("is empty, expected a destination");
  checkWeights(route.route, place.at("route"));
}

function checkL4Match(
  match: Pick<TLSMatchAttributes, "destinationSubnets" | "port" | "sourceLabels" | "gateways">,
  place: Place,
): void {
  each(match.destinationSubnets, place.at("destinationSubnets"), checkSubnet);
  if (match.port !== 0) checkPort(match.port, place.at("port"));
  checkLabels(match.sourceLabels, place.at("sourceLabels"));
  checkGatewayNames(match.gateways, place.at("gateways"));
}

function checkSniHost(host: string, { hosts }: VirtualService, toGateway: boolean, place: Place): void {
  const fault = virtualHostFault(host, toGateway);
  if (fault !== undefined) {
    if (isIpAddress(host))
      place.warning(`is ${JSON.stringify(host)}, expected a name: most clients send no address as SNI`);
    else place.error(fault);
  } else if (!hosts.some((h) => isSubsetOf(host, h))) {
    place.error(`is ${JSON.stringify(host)}, expected a host within those of the VirtualService: ${hosts.join(", ")}`);
  }
}
