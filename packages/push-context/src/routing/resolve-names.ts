import type { Destination, VirtualService } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { type NameScope, resolveGateway, resolveHost } from "./short-names.js";

/**
 * Returns a VirtualService with all hosts and gateways fully qualified. Messages without short names are shared with
 * the original.
 */
export function resolveNames(virtualService: VirtualService, scope: NameScope): VirtualService {
  const host = (name: string): string => resolveHost(name, scope);
  const gateway = (name: string): string => resolveGateway(name, scope.namespace);
  const named = (destination: Destination): Destination => withValues(destination, { host: host(destination.host) });
  const target = <T extends { readonly destination?: Destination | undefined }>(holder: T): T =>
    holder.destination === undefined
      ? holder
      : withValues(holder, { destination: named(holder.destination) } as Partial<T>);
  const match = <T extends { readonly gateways: string[] }>(condition: T): T =>
    withValues(condition, { gateways: mapElements(condition.gateways, gateway) } as Partial<T>);
  return withValues(virtualService, {
    hosts: mapElements(virtualService.hosts, host),
    gateways: mapElements(virtualService.gateways, gateway),
    http: mapElements(virtualService.http, (route) =>
      withValues(route, {
        match: mapElements(route.match, match),
        route: mapElements(route.route, target),
        ...(route.mirror && { mirror: named(route.mirror) }),
        mirrors: mapElements(route.mirrors, target),
      }),
    ),
    tcp: mapElements(virtualService.tcp, (route) =>
      withValues(route, { match: mapElements(route.match, match), route: mapElements(route.route, target) }),
    ),
    tls: mapElements(virtualService.tls, (route) =>
      withValues(route, { match: mapElements(route.match, match), route: mapElements(route.route, target) }),
    ),
  });
}

/** Returns all destinations of the routes, including mirrors, in the order in which they are declared. */
export function routeDestinations({ http, tcp, tls }: Pick<VirtualService, "http" | "tcp" | "tls">): Destination[] {
  const found: Destination[] = [];
  const add = (destination: Destination | undefined): void => {
    if (destination !== undefined) found.push(destination);
  };
  for (const { route, mirror, mirrors } of http) {
    for (const { destination } of route) add(destination);
    add(mirror);
    for (const { destination } of mirrors) add(destination);
  }
  for (const { route } of [...tcp, ...tls]) for (const { destination } of route) add(destination);
  return found;
}

/** Returns a copy of the message with these values; the message itself if they are equal. */
function withValues<T extends object>(message: T, values: Partial<T>): T {
  for (const name in values) {
    if (values[name] !== message[name]) return { ...message, ...values };
  }
  return message;
}

/** Maps the elements; returns the same list if each is mapped to itself. */
function mapElements<T>(elements: T[], map: (element: T) => T): T[] {
  let out: T[] | undefined;
  for (const [i, element] of elements.entries()) {
    const mapped = map(element);
    if (mapped !== element) (out ??= elements.slice())[i] = mapped;
  }
  return out ?? elements;
}
