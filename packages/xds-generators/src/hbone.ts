import { query, type QueryContext } from "@istiod/incremental";
import { askMetadata, features, proxyType } from "@istiod/push-context";
import { hasIstioExtension } from "./istio-extensions.js";

/** The port on which workloads accept HBONE tunnels. */
export const hbonePort = 15008;

/** Reports whether the client can send through HBONE: if the mesh enables it, and always for waypoints. */
export function sendsHbone(q: QueryContext): boolean {
  return q.call(hboneEnabled);
}

const hboneEnabled = query(
  "sendsHbone",
  (q): boolean => features.sendHbone(q) || (features.ambient(q) && q.ask(proxyType) === "waypoint"),
);

/** Reports whether the client opens tunnels to endpoints that accept them. */
export function opensTunnels(q: QueryContext): boolean {
  return sendsHbone(q) && askMetadata(q, "DISABLE_HBONE_SEND") !== true;
}

/** Reports whether the client terminates tunnels to its workload. */
export function terminatesTunnels(q: QueryContext): boolean {
  return features.sidecarListensHbone(q) && askMetadata(q, "ENABLE_HBONE") === true;
}

/** Reports whether the client and its tunnel peers exchange metadata in the baggage header. */
export function exchangesBaggage(q: QueryContext): boolean {
  return features.ambientBaggage(q) && sendsHbone(q) && hasIstioExtension(q, "tunnelPeerMetadata");
}
