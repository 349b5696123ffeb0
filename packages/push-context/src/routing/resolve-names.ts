import { clone } from "@bufbuild/protobuf";
import { type Destination, type VirtualService, VirtualServiceSchema } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { type NameScope, resolveGateway, resolveHost } from "./short-names.js";

/** A copy of a VirtualService in which every host and gateway has its full name. */
export function resolveNames(virtualService: VirtualService, scope: NameScope): VirtualService {
  const out = clone(VirtualServiceSchema, virtualService);
  out.hosts = out.hosts.map((host) => resolveHost(host, scope));
  out.gateways = out.gateways.map((gateway) => resolveGateway(gateway, scope.namespace));
  const routes: readonly { readonly match: { gateways: string[] }[] }[] = [...out.http, ...out.tcp, ...out.tls];
  for (const match of routes.flatMap((route) => route.match)) {
    match.gateways = match.gateways.map((gateway) => resolveGateway(gateway, scope.namespace));
  }
  for (const destination of destinationsOf(out)) {
    destination.host = resolveHost(destination.host, scope);
  }
  return out;
}

/** Every destination that the routes name, mirrors among them, in the order in which they are written. */
export function destinationsOf({ http, tcp, tls }: Pick<VirtualService, "http" | "tcp" | "tls">): Destination[] {
  return [
    ...http.flatMap((route) => [
      ...route.route.map((weighted) => weighted.destination),
      route.mirror,
      ...route.mirrors.map((mirror) => mirror.destination),
    ]),
    ...[...tcp, ...tls].flatMap((route) => route.route.map((weighted) => weighted.destination)),
  ].filter((destination) => destination !== undefined);
}
