import { query } from "@istiod/incremental";
import { proxyType } from "@istiod/push-context";
import { type Resource, ResourceSet } from "@istiod/resources";
import { gatewayRouteConfiguration } from "./gateway-route-configuration.js";
import { sidecarRouteConfiguration } from "./sidecar-route-configuration.js";

/** The route configuration that the client means by a name. */
export const routeOf = query("routeOf", (q, name: string): Resource =>
  q.ask(proxyType) === "router" ? q.call(gatewayRouteConfiguration, name) : q.call(sidecarRouteConfiguration, name),
);

/** The route configurations of these names. */
export const routesNamed = query("routesNamed", (q, names: readonly string[]): ResourceSet => ResourceSet.of(names.map((name) => q.call(routeOf, name))));
