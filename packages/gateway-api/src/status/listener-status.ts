import type { QueryContext } from "@istiod/incremental";
import type { ListenerParent, RouteKind } from "../listeners/attachable-listener.js";
import { builtListeners } from "../gateways/gateway-listeners.js";
import { attachedRoutes } from "../routes/attached-routes.js";
import type { StatusCondition } from "./conditions.js";

/** The status of a listener. */
export interface ListenerStatus {
  readonly name: string;
  readonly attachedRoutes: number;
  readonly supportedKinds: readonly RouteKind[];
  readonly conditions: readonly StatusCondition[];
}

/** Returns the statuses of the listeners of a Gateway or ListenerSet. */
export function listenerStatuses(q: QueryContext, owner: ListenerParent): readonly ListenerStatus[] {
  const routes = q.call(attachedRoutes, owner);
  return (q.call(builtListeners, owner) ?? []).map(({ listener: { name }, allowedKinds, conditions }) => ({
    name,
    attachedRoutes: routes[name] ?? 0,
    supportedKinds: allowedKinds,
    conditions,
  }));
}
