import { query } from "@istiod/incremental";
import { attachableListeners } from "../gateways/derived-gateways.js";
import type { AttachableListener } from "../listeners/attachable-listener.js";
import { routeBinding, type RouteReference } from "./route.js";
import { acceptedAttachments, allWhenEmpty, isIsolatedTo, routeAttachments } from "./route-attachments.js";

/** The listeners of Gateways and ListenerSets to which a route is attached, and at which it has a host. */
export const routeListeners = query(
  "gatewayApiRouteListeners",
  (q, route: RouteReference): readonly AttachableListener[] => {
    const hosts = allWhenEmpty(q.call(routeBinding, route)?.hostnames ?? []);
    return acceptedAttachments(q.call(routeAttachments, route)).flatMap((attachment) => {
      const { kind, namespace, name } = attachment.parent;
      if (kind !== "Gateway" && kind !== "ListenerSet") return [];
      if (!hosts.some((host) => isIsolatedTo(attachment, host))) return [];
      const listeners = q.call(attachableListeners, { kind, namespace, name }) ?? [];
      return listeners.filter(({ gateway }) => gateway === attachment.gateway);
    });
  },
);
