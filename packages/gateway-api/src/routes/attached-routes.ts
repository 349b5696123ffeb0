import { query } from "@istiod/incremental";
import type { ListenerParent } from "../listeners/attachable-listener.js";

/** The number of routes that are attached to each listener (by its name) of a Gateway or ListenerSet. */
export const attachedRoutes = query(
  "gatewayApiAttachedRoutes",
  (_q, _parent: ListenerParent): Readonly<Record<string, number>> => ({}),
);
