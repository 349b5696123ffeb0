import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { type HeaderValueOption, HeaderValueOptionSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import {
  DecoratorSchema,
  type Route,
  type RouteMatch,
  RouteSchema,
} from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { CorsPolicySchema } from "@istiod/envoy-api/envoy/extensions/filters/http/cors/v3/cors";
import { HTTPFaultSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/fault/v3/fault";
import type { QueryContext } from "@istiod/incremental";
import type { HTTPMatchRequest, HTTPRoute } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import type { ResolvedVirtualService } from "@istiod/push-context";
import type { EndpointPicker } from "@istiod/service-discovery";
import { configPath } from "../../config-metadata.js";
import { endpointPickerFilter, endpointPickerOfRoute } from "../../extensions/endpoint-picker.js";
import { parseClusterName } from "../../resource-names.js";
import type { DestinationTraits } from "./destinations.js";
import { corsConfig, corsFilter, faultConfig, faultFilter } from "./filter-config.js";
import { headerOperations } from "./header-operations.js";
import { directResponse, redirectAction } from "./redirect.js";
import { setForwardingAction } from "./route-action.js";
import { anyRequest, routeMatch } from "./route-match.js";
import { sessionConfig, type SessionKey, statefulSessionFilter } from "./stateful-session.js";

/**
 * The context of a route: the port at which requests arrived, whether TLS was terminated there, and the traits of
 * destinations.
 */
export interface RouteContext {
  readonly port: number;
  readonly tls: boolean;
  /** True if the port also serves HTTP/3. */
  readonly http3: boolean;
  traitsOf(host: string): DestinationTraits | undefined;
}

/** The VirtualService of a route. */
export type RouteOwner = Pick<ResolvedVirtualService, "namespace" | "name" | "semantics">;

/** Converts one match of an HTTP route of a VirtualService. */
export function envoyRoute(
  q: QueryContext,
  owner: RouteOwner,
  route: HTTPRoute,
  match: HTTPMatchRequest | undefined,
  context: RouteContext,
): Route {
  const operations = route.headers && headerOperations(route.headers);
  const { authority = "", ...headers } = operations ?? {};
  const out = create(RouteSchema, {
    name: match === undefined || match.name === "" ? route.name : `${route.name}.${match.name}`,
    match: match === undefined ? anyRequest() : routeMatch(match, owner.semantics),
    metadata: { filterMetadata: { istio: { config: configPath("VirtualService", owner) } } },
    ...headers,
    ...(match === undefined || match.statPrefix === "" ? {} : { statPrefix: match.statPrefix }),
  });
  let sessions: SessionKey | undefined;
  if (route.redirect !== undefined) {
    const redirect = redirectAction(route.redirect, context.port, context.tls);
    out.action = redirect === undefined ? { case: undefined } : { case: "redirect", value: redirect };
  } else if (route.directResponse !== undefined) {
    out.action = { case: "directResponse", value: directResponse(route.directResponse) };
  } else {
    setForwardingAction(q, out, route, authority, { ...context, semantics: owner.semantics });
    sessions = sessionOf(route, context);
  }
  out.decorator = create(DecoratorSchema, { operation: operationOf(out, owner.name, context.port) });
  // Only routes of the Gateway API lead to an InferencePool, and not to the Service that stands for it.
  const picker = owner.semantics === "gateway-api" ? pickerOf(route, context) : undefined;
  if (picker !== undefined) out.typedPerFilterConfig[endpointPickerFilter] = endpointPickerOfRoute(picker);
  if (route.fault !== undefined) {
    out.typedPerFilterConfig[faultFilter] = anyPack(HTTPFaultSchema, faultConfig(route.fault));
  }
  if (route.corsPolicy !== undefined) {
    out.typedPerFilterConfig[corsFilter] = anyPack(CorsPolicySchema, corsConfig(route.corsPolicy));
  }
  if (sessions !== undefined) {
    out.typedPerFilterConfig[statefulSessionFilter] = sessionConfig(sessions);
  }
  if (context.http3) {
    out.responseHeadersToAdd.push(http3AltSvc(context.port));
  }
  return out;
}

/** Returns the endpoint picker of a route: that of its last backend, if it is an InferencePool. */
function pickerOf({ route }: HTTPRoute, { traitsOf }: RouteContext): EndpointPicker | undefined {
  return traitsOf(route.at(-1)?.destination?.host ?? "")?.picker;
}

/** Advertises HTTP/3 at the port for a day (RFC 7838). */
function http3AltSvc(port: number): HeaderValueOption {
  return create(HeaderValueOptionSchema, { header: { key: "alt-svc", value: `h3=":${port}"; ma=86400` } });
}

/**
 * Returns the operation name in traces: host, port and path of the destination, or the VirtualService's name if there
 * is no single one.
 */
function operationOf({ match, action }: Route, owner: string, port: number): string {
  const cluster =
    action.case === "route" && action.value.clusterSpecifier.case === "cluster"
      ? parseClusterName(action.value.clusterSpecifier.value)
      : undefined;
  return `${cluster?.hostname ?? owner}:${cluster?.port ?? port}${pathOf(match)}`;
}

function pathOf(match: RouteMatch | undefined): string {
  const path = match?.pathSpecifier;
  switch (path?.case) {
    case "prefix":
      return `${path.value}*`;
    case "path":
      return path.value;
    case "safeRegex":
      return path.value.regex;
    default:
      return "/*";
  }
}

/** Returns the session of a route: the first one among its destinations, unless a destination in between has none. */
function sessionOf({ route }: HTTPRoute, { traitsOf }: RouteContext): SessionKey | undefined {
  let current: SessionKey | undefined;
  const destinations = route.length === 1 ? route : route.filter(({ weight }) => weight !== 0);
  for (const { destination } of destinations) {
    const session = destination && traitsOf(destination.host)?.session;
    if (session !== undefined && current !== undefined) {
      break;
    }
    current = session;
  }
  return current;
}
