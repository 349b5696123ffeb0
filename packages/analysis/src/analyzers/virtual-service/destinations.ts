import type { FieldPath } from "@istiod/config-schema";
import type { Destination, VirtualService } from "@istiod/istio-api/networking/v1alpha3/virtual_service";

/** A destination that a route of a VirtualService names. */
export interface RouteDestination {
  /** Empty if it is not set. */
  readonly host: string;
  readonly subset: string;
  /** Undefined if it is not set. */
  readonly port?: number;
  readonly mirror: boolean;
  /** Path of the destination in the object. */
  readonly path: FieldPath;
}

/** Returns the destinations of all routes, including mirrors. */
export function routeDestinations({ http, tls, tcp }: VirtualService): readonly RouteDestination[] {
  const found: RouteDestination[] = [];
  const add = (destination: Destination | undefined, path: FieldPath, mirror = false): void => {
    const { host = "", subset = "", port } = destination ?? {};
    found.push({ host, subset, ...(port && { port: port.number }), mirror, path: ["spec", ...path] });
  };
  for (const [kind, routes] of Object.entries({ tcp, tls, http })) {
    for (const [i, { route }] of routes.entries())
      route.forEach(({ destination }, j) => add(destination, [kind, i, "route", j, "destination"]));
  }
  for (const [i, { mirror, mirrors }] of http.entries()) {
    if (mirror !== undefined) add(mirror, ["http", i, "mirror"], true);
    mirrors.forEach(({ destination }, j) => add(destination, ["http", i, "mirrors", j, "destination"], true));
  }
  return found;
}
