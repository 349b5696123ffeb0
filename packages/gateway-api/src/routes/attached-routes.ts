import { grpcRoutes, httpRoutes, type RouteParents, tcpRoutes, tlsRoutes } from "@istiod/config-schema";
import { type Index, index, query, type QueryContext } from "@istiod/incremental";
import type { ListenerParent } from "../listeners/attachable-listener.js";
import { parentKey, parentOf } from "./parent.js";
import type { RouteReference } from "./route.js";
import { routeAttachments } from "./route-attachments.js";

interface RouteFields {
  readonly namespace: string;
  readonly name: string;
  readonly spec: RouteParents;
}

function parentsOf({ namespace, spec: { parentRefs } }: RouteFields): readonly string[] {
  return parentRefs.flatMap((ref) => {
    const parent = parentOf(ref, namespace);
    return parent === undefined ? [] : [parentKey(parent)];
  });
}

const byParent: Readonly<Record<RouteReference["kind"], Index<RouteFields>>> = {
  HTTPRoute: index(httpRoutes, "byParent", parentsOf),
  GRPCRoute: index(grpcRoutes, "byParent", parentsOf),
  TCPRoute: index(tcpRoutes, "byParent", parentsOf),
  TLSRoute: index(tlsRoutes, "byParent", parentsOf),
};

/** The routes that name a Gateway or ListenerSet as parent. A change of their rules does not change them. */
export const routesNaming = query("gatewayApiRoutesNaming", (q, parent: ListenerParent): readonly RouteReference[] =>
  (Object.keys(byParent) as RouteReference["kind"][]).flatMap((kind) => keysOf(q, kind, parentKey(parent))),
);

function keysOf(q: QueryContext, kind: RouteReference["kind"], parent: string): readonly RouteReference[] {
  return q.members(byParent[kind], parent).map((key) => ({ kind, key }));
}

/** The number of routes that are attached to each listener (by its name) of a Gateway or ListenerSet. */
export const attachedRoutes = query(
  "gatewayApiAttachedRoutes",
  (q, parent: ListenerParent): Readonly<Record<string, number>> => {
    const own = parentKey(parent);
    const routes: Record<string, Set<string>> = {};
    for (const route of q.call(routesNaming, parent)) {
      for (const attachment of q.call(routeAttachments, route)) {
        if (attachment.denied !== undefined || parentKey(attachment.parent) !== own) continue;
        (routes[attachment.sectionName] ??= new Set()).add(`${route.kind}/${route.key}`);
      }
    }
    return Object.fromEntries(Object.entries(routes).map(([section, { size }]) => [section, size]));
  },
);
