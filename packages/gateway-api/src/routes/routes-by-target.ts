import { grpcRoutes, httpRoutes, type RouteParents, serviceEntries } from "@istiod/config-schema";
import { index, query } from "@istiod/incremental";
import { features } from "../settings/features.js";
import { isMeshParent, parentOf } from "./parent.js";
import type { RouteReference } from "./route.js";
import { allWhenEmpty } from "./route-attachments.js";
import { gatewayApiSuffix } from "../names.js";

interface RouteFields {
  readonly namespace: string;
  readonly spec: RouteParents & { readonly hostnames: readonly string[] };
}

/**
 * Returns the targets of a route: a host at a Gateway or ListenerSet, or an object of the mesh for clients of the
 * route's namespace.
 */
function targetsOf({ namespace, spec: { parentRefs, hostnames } }: RouteFields): readonly string[] {
  return parentRefs.flatMap((ref) => {
    const parent = parentOf(ref, namespace);
    if (parent === undefined) return [];
    return isMeshParent(parent)
      ? [meshTarget(namespace, parent.kind, `${parent.namespace}/${parent.name}`)]
      : allWhenEmpty(hostnames).map((host) => gatewayTarget(parent.namespace, parent.name, host));
  });
}

function gatewayTarget(namespace: string, name: string, host: string): string {
  return `${namespace}/${name}/${host}`;
}

function meshTarget(routeNamespace: string, kind: string, key: string): string {
  return `mesh/${routeNamespace}/${kind}/${key}`;
}

const httpRoutesByTarget = index(httpRoutes, "byTarget", targetsOf);
const grpcRoutesByTarget = index(grpcRoutes, "byTarget", targetsOf);
const serviceEntriesByHost = index(serviceEntries, "byHostForRoutes", ({ spec }) => spec.hosts);

/**
 * The HTTPRoutes and GRPCRoutes that may have a part in a VirtualService, by its name. Only routes that name its host
 * and gateway, or its object of the mesh, are read.
 */
export const routesOfVirtualService = query(
  "gatewayApiRoutesOfVirtualService",
  (q, name: string): readonly RouteReference[] => {
    const targets = targetsOfName(name, features.domain(q), (host) => q.members(serviceEntriesByHost, host));
    const routes = targets.flatMap((target): readonly RouteReference[] => [
      ...q.members(httpRoutesByTarget, target).map((key) => ({ kind: "HTTPRoute" as const, key })),
      ...q.members(grpcRoutesByTarget, target).map((key) => ({ kind: "GRPCRoute" as const, key })),
    ]);
    return [...new Map(routes.map((route) => [`${route.kind}/${route.key}`, route])).values()];
  },
);

/** Returns the targets of a VirtualService, which its name tells: see {@link httpParts}. */
function targetsOfName(
  name: string,
  domain: string,
  entriesWithHost: (host: string) => readonly string[],
): readonly string[] {
  const parts = name.split("~");
  const host = parts.at(-1) ?? "";
  const [namespace = "", gateway = ""] = parts;
  if (parts.length >= 5 && parts[2] === gatewayApiSuffix) return [gatewayTarget(namespace, gateway, host)];
  if (parts.length > 3) return [];
  const entries = entriesWithHost(host).map((key) => meshTarget(namespace, "ServiceEntry", key));
  const suffix = `.svc.${domain}`;
  const [service, serviceNamespace, ...rest] = host.endsWith(suffix) ? host.slice(0, -suffix.length).split(".") : [];
  return serviceNamespace === undefined || rest.length > 0
    ? entries
    : [meshTarget(namespace, "Service", `${serviceNamespace}/${service}`), ...entries];
}
