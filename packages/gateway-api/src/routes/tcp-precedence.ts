import { query } from "@istiod/incremental";
import type { ListenerParent } from "../listeners/attachable-listener.js";
import { routesNaming } from "./attached-routes.js";
import { parentKey } from "./parent.js";
import { routeAttachments } from "./route-attachments.js";
import { type RouteBinding, routeBinding } from "./route.js";

/** The first TCPRoute (`namespace/name`) of each listener of a parent, by the name of the listener. */
const firstTcpRoutes = query(
  "gatewayApiFirstTcpRoutes",
  (q, parent: ListenerParent): Readonly<Record<string, string>> => {
    const own = parentKey(parent);
    const first = new Map<string, RouteBinding>();
    for (const route of q.call(routesNaming, parent)) {
      const binding = route.kind === "TCPRoute" ? q.call(routeBinding, route) : undefined;
      if (binding === undefined) continue;
      for (const { denied, parent: at, sectionName } of q.call(routeAttachments, route)) {
        if (denied !== undefined || parentKey(at) !== own) continue;
        const other = first.get(sectionName);
        if (other === undefined || precedes(binding, other)) first.set(sectionName, binding);
      }
    }
    return Object.fromEntries([...first].map(([section, { namespace, name }]) => [section, `${namespace}/${name}`]));
  },
);

/** Reports whether the VirtualService of a route comes before that of another one: by age, name and namespace. */
function precedes(a: RouteBinding, b: RouteBinding): boolean {
  if (a.creationTimestamp !== b.creationTimestamp) return a.creationTimestamp < b.creationTimestamp;
  return a.name === b.name ? a.namespace < b.namespace : `${a.name}~` < `${b.name}~`;
}

/** The TCPRoute (`namespace/name`) that has all connections to a listener; undefined if none is attached. */
export const firstTcpRoute = query(
  "gatewayApiFirstTcpRoute",
  (q, { parent, sectionName }: { readonly parent: ListenerParent; readonly sectionName: string }): string | undefined =>
    q.call(firstTcpRoutes, parent)[sectionName],
);
