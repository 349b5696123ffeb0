import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import {
  type DirectResponseAction,
  type RedirectAction,
  RedirectAction_RedirectResponseCode as RedirectCode,
  type Route,
  RouteSchema,
  type VirtualHost,
  VirtualHostSchema,
} from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { HTTPFaultSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/fault/v3/fault";
import { wholePercent } from "../envoy/percent.js";
import { faultFilter } from "../routes/route/filter-config.js";
import { statefulSessionFilter } from "../routes/route/stateful-session.js";
import { acceptedForwarding } from "./accepted-forwarding.js";
import { acceptedMatches, authorityDecisions } from "./accepted-match.js";
import type { AcceptedRouteContext } from "./accepted-route-context.js";

/**
 * Returns a virtual host as gRPC libraries accept it, with the meaning that it has for them: what they reject is
 * expressed otherwise or left out, and what they ignore is left out if it is a feature of the route. Several virtual
 * hosts if routes match authorities, which tell its domains apart: libraries match those by the target of a channel.
 * See docs/design/038-proxyless-grpc.md.
 */
export function acceptedVirtualHosts(host: VirtualHost, context: AcceptedRouteContext): readonly VirtualHost[] {
  const groups = new Map<string, string[]>();
  for (const domain of distinguishedDomains(host, context.authorities)) {
    if (domain.endsWith(".") && !context.supports("absoluteDomains")) continue;
    const decisions = authorityDecisions(host, domain);
    const group = groups.get(decisions);
    if (group === undefined) groups.set(decisions, [domain]);
    else group.push(domain);
  }
  return [...groups.values()].map((domains, index) =>
    create(VirtualHostSchema, {
      name: index === 0 ? host.name : `${host.name}|${index}`,
      domains,
      routes: host.routes.flatMap((route) => acceptedRoutes(route, domains[0] ?? "", context)),
      includeRequestAttemptCount: host.includeRequestAttemptCount,
      typedPerFilterConfig: acceptedFilters(host, context),
    }),
  );
}

/** Returns the domains of a virtual host. A wildcard follows the authorities that it covers and does not tell apart. */
function distinguishedDomains(host: VirtualHost, authorities: readonly string[]): readonly string[] {
  const { domains } = host;
  if (authorities.length === 0 || authorityDecisions(host, "") === "") return domains;
  return [...new Set([...authorities, ...domains])];
}

/** Returns the routes that stand for a route: none if no call can match it, several if one cannot express its match. */
function acceptedRoutes(route: Route, authority: string, context: AcceptedRouteContext): readonly Route[] {
  const action = acceptedAction(route, context);
  if (route.match === undefined || action === undefined) return [];
  const { name, metadata, decorator } = route;
  return acceptedMatches(route.match, authority).map((match) =>
    create(RouteSchema, {
      name,
      match,
      ...(metadata && { metadata }),
      ...(decorator && { decorator }),
      ...action,
    }),
  );
}

type AcceptedAction = Pick<Route, "action" | "typedPerFilterConfig">;

function acceptedAction(route: Route, context: AcceptedRouteContext): AcceptedAction | undefined {
  const { action } = route;
  switch (action.case) {
    case "route": {
      const value = acceptedForwarding(action.value, context);
      return value && { action: { case: "route", value }, typedPerFilterConfig: acceptedFilters(route, context) };
    }
    case "redirect":
    case "directResponse":
      return context.cluster === undefined ? undefined : abortWith(statusOf(action.value), context.cluster, context);
    default:
      return undefined;
  }
}

/**
 * Returns the action that fails every call with the gRPC status of an HTTP status. Libraries have no other response of
 * their own, and one of them rejects all routes with a response.
 */
function abortWith(status: number, cluster: string, context: AcceptedRouteContext): AcceptedAction | undefined {
  const value = acceptedForwarding({ clusterSpecifier: { case: "cluster", value: cluster } }, context);
  const abort = { errorType: { case: "httpStatus", value: status }, percentage: wholePercent(100) } as const;
  return (
    value && {
      action: { case: "route", value },
      typedPerFilterConfig: { [faultFilter]: anyPack(HTTPFaultSchema, create(HTTPFaultSchema, { abort })) },
    }
  );
}

function statusOf(response: RedirectAction | DirectResponseAction): number {
  return "status" in response ? response.status : redirectStatuses[response.responseCode];
}

const redirectStatuses: Readonly<Record<RedirectCode, number>> = {
  [RedirectCode.MOVED_PERMANENTLY]: 301,
  [RedirectCode.FOUND]: 302,
  [RedirectCode.SEE_OTHER]: 303,
  [RedirectCode.TEMPORARY_REDIRECT]: 307,
  [RedirectCode.PERMANENT_REDIRECT]: 308,
};

/** Returns the settings of HTTP filters that the client has. */
function acceptedFilters(
  { typedPerFilterConfig }: Pick<Route | VirtualHost, "typedPerFilterConfig">,
  { supports }: AcceptedRouteContext,
): Route["typedPerFilterConfig"] {
  const out: Route["typedPerFilterConfig"] = {};
  const { [faultFilter]: fault, [statefulSessionFilter]: session } = typedPerFilterConfig;
  if (fault !== undefined) out[faultFilter] = fault;
  if (session !== undefined && supports("statefulSession")) out[statefulSessionFilter] = session;
  return out;
}
