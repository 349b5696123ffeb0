import type { Destination, VirtualService } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { type NameScope, resolveGateway, resolveHost } from "./short-names.js";

/**
 * A VirtualService in which every host and gateway has its full name. What holds no short name is shared with the one
 * given.
 */
export function resolveNames(virtualService: VirtualService, scope: NameScope): VirtualService {
  const host = (name: string): string => resolveHost(name, scope);
  const gateway = (name: string): string => resolveGateway(name, scope.namespace);
  const named = (destination: Destination): Destination => replaced(destination, { host: host(destination.host) });
  const target = <T extends { readonly destination?: Destination | undefined }>(holder: T): T =>
    holder.destination === undefined
      ? holder
      : replaced(holder, { destination: named(holder.destination) } as Partial<T>);
  const match = <T extends { readonly gateways: string[] }>(condition: T): T =>
    replaced(condition, { gateways: each(condition.gateways, gateway) } as Partial<T>);
  return replaced(virtualService, {
    hosts: each(virtualService.hosts, host),
    gateways: each(virtualService.gateways, gateway),
    http: each(virtualService.http, (route) =>
      replaced(route, {
        match: each(route.match, match),
        route: each(route.route, target),
        ...(route.mirror && { mirror: named(route.mirror) }),
        mirrors: each(route.mirrors, target),
      }),
    ),
    tcp: each(virtualService.tcp, (route) =>
      replaced(route, { match: each(route.match, match), route: each(route.route, target) }),
    ),
    tls: each(virtualService.tls, (route) =>
      replaced(route, { match: each(route.match, match), route: each(route.route, target) }),
    ),
  });
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

/** The message with other values; itself where these are the values that it has. */
function replaced<T extends object>(message: T, values: Partial<T>): T {
  for (const name in values) {
    if (values[name] !== message[name]) return { ...message, ...values };
  }
  return message;
}

/** The elements mapped; the same list where each is mapped to itself. */
function each<T>(elements: T[], map: (element: T) => T): T[] {
  let out: T[] | undefined;
  for (const [i, element] of elements.entries()) {
    const mapped = map(element);
    if (mapped !== element) (out ??= elements.slice())[i] = mapped;
  }
  return out ?? elements;
}
