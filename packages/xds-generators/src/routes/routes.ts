import { query, type QueryContext } from "@istiod/incremental";
import { isProxylessGrpc, mergedGateway, proxyType, scopeKey, scopeOf, type ScopeRef } from "@istiod/push-context";
import { type Resource, ResourceSet } from "@istiod/resources";
import { resourcesOf } from "../attempt.js";
import { failedGatewayResources } from "../failed-services.js";
import { scopeOutboundPlans } from "../listeners/outbound/outbound-plans.js";
import { httpProxyListener } from "../listeners/outbound/virtual-outbound.js";
import { patchRoutes } from "../patches/patched-routes.js";
import { gatewayRouteConfiguration } from "./gateway/gateway-route-configuration.js";
import { httpProxyRoute, sidecarRouteConfiguration } from "./sidecar/sidecar-route-configuration.js";

/** All route configurations that the client's listeners reference (RDS). */
export const routeConfigurations = query("routeConfigurations", (q): ResourceSet =>
  ResourceSet.union([
    resourcesOf(
      routeNames(q),
      (name) => q.call(routeConfigurationByName, name),
      (name) => ({ name, objects: [] }),
    ),
    q.call(failedGatewayResources),
  ]),
);

/** A route configuration by name, without virtual hosts if the client has none with that name. */
export const routeConfigurationByName = query("routeConfigurationByName", (q, name: string): Resource =>
  patchRoutes(q, unpatchedRouteConfiguration(q, name)),
);

/** The route configurations that the client's listeners reference, as they are before patches. */
export const unpatchedRoutes = query("unpatchedRoutes", (q): readonly Resource[] =>
  routeNames(q).map((name) => unpatchedRouteConfiguration(q, name)),
);

function unpatchedRouteConfiguration(q: QueryContext, name: string): Resource {
  return q.ask(proxyType) === "router"
    ? q.call(gatewayRouteConfiguration, name)
    : q.call(sidecarRouteConfiguration, name);
}

function routeNames(q: QueryContext): readonly string[] {
  if (q.ask(isProxylessGrpc)) return [];
  switch (q.ask(proxyType)) {
    case "router":
      return q.call(gatewayRouteNames);
    case "sidecar":
      return [
        ...q.call(sidecarRouteNames, scopeOf(q)),
        ...(q.call(httpProxyListener) === undefined ? [] : [httpProxyRoute]),
      ];
    default:
      return [];
  }
}

const gatewayRouteNames = query("gatewayRouteNames", (q): readonly string[] =>
  Object.keys(q.call(mergedGateway)?.serversByRouteName ?? {}).sort(),
);

/** The names of the route configurations that a scope's outbound listeners reference. */
export const sidecarRouteNames = query(
  "outboundRouteNames",
  (q, scope: ScopeRef): readonly string[] => {
    const names = q
      .call(scopeOutboundPlans, scope)
      .withHttp.flatMap(({ chains }) => chains.flatMap((chain) => (chain.kind === "http" ? [chain.routeName] : [])));
    return [...new Set(names)].sort();
  },
  { key: scopeKey },
);
