import type { Route, VirtualHost } from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import {
  type EnvoyFilter_RouteConfigurationMatch as RouteConfigurationMatch,
  EnvoyFilter_PatchContext as Context,
  EnvoyFilter_RouteConfigurationMatch_RouteMatch_Action as Action,
} from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import type { Patch, PatchContext } from "../patch.js";
import { parseClusterName, parsePort } from "./cluster-name.js";

/** The port numbers of services by the port that a gateway listens on. */
export type GatewayPorts = Readonly<Record<number, readonly number[]>>;

/** The use of a route configuration, which patches depend on. */
export interface RoutePlace {
  readonly context: PatchContext;
  readonly gatewayPorts?: GatewayPorts | undefined;
}

function routeMatchOf({ match }: Patch): RouteConfigurationMatch | undefined {
  return match?.objectTypes.case === "routeConfiguration" ? match.objectTypes.value : undefined;
}

/** Reports whether a patch matches a route configuration. */
export function routeConfigurationMatches(patch: Patch, name: string, { context, gatewayPorts }: RoutePlace): boolean {
  const match = routeMatchOf(patch);
  if (match === undefined) return true;
  if (match.name !== "" && match.name !== name) return false;
  if (context !== Context.GATEWAY) return match.portNumber === 0 || match.portNumber === listenerPort(name);
  const { port, portName, gateway } = parseGatewayRouteName(name);
  return (
    (match.portName === "" || match.portName === portName) &&
    (match.gateway === "" || match.gateway === gateway) &&
    (match.portNumber === 0 || (gatewayPorts?.[port] ?? [port]).includes(match.portNumber))
  );
}

function listenerPort(name: string): number {
  return name.startsWith("inbound") ? parseClusterName(name).port : parsePort(name);
}

/** Parses `http.PORT` or `https.PORT.PORT_NAME.GATEWAY.NAMESPACE`. */
function parseGatewayRouteName(name: string): { port: number; portName: string; gateway: string } {
  if (name.startsWith("http.")) return { port: parsePort(name.slice("http.".length)), portName: "", gateway: "" };
  const parts = name.split(".");
  const [scheme, port = "", portName = "", gateway = "", namespace = ""] = parts;
  return scheme === "https" && parts.length === 5
    ? { port: parsePort(port), portName, gateway: `${namespace}/${gateway}` }
    : { port: 0, portName: "", gateway: "" };
}

/** Reports whether a patch matches a virtual host of a route configuration that it matches. */
export function virtualHostMatches(patch: Patch, { name, domains }: Pick<VirtualHost, "name" | "domains">): boolean {
  const match = routeMatchOf(patch)?.vhost;
  if (match === undefined) return true;
  return (match.name === "" || match.name === name) && (match.domainName === "" || domains.includes(match.domainName));
}

/** Reports whether a patch names a route, and not only its virtual host. */
export function matchesOneRoute(patch: Patch): boolean {
  return routeMatchOf(patch)?.vhost?.route !== undefined;
}

/** Reports whether a patch matches a route of a virtual host that it matches. */
export function routeMatches(patch: Patch, { name, action }: Route): boolean {
  const match = routeMatchOf(patch)?.vhost?.route;
  if (match === undefined) return true;
  if (match.name !== "" && match.name !== name) return false;
  const wanted = actions[match.action];
  // As in Istio, a route with another kind of action matches any.
  return wanted === undefined || !isListed(action.case) || action.case === wanted;
}

const actions: Readonly<Partial<Record<Action, string>>> = {
  [Action.ROUTE]: "route",
  [Action.REDIRECT]: "redirect",
  [Action.DIRECT_RESPONSE]: "directResponse",
};

function isListed(action: string | undefined): boolean {
  return Object.values(actions).includes(action ?? "");
}
