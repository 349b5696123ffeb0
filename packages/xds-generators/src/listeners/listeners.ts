import { query, type QueryContext } from "@istiod/incremental";
import { features, mesh, isProxylessGrpc, proxyType } from "@istiod/push-context";
import { ResourceSet } from "@istiod/resources";
import { terminatesTunnels } from "../hbone.js";
import { gatewayListeners } from "./gateway/gateway-listeners.js";
import { connectOriginateListener } from "./hbone/connect-originate.js";
import { connectTerminateListener } from "./hbone/connect-terminate.js";
import { mainInternalListener } from "./hbone/main-internal.js";
import { inboundListeners } from "./inbound/inbound-listeners.js";
import { outboundListeners } from "./outbound/outbound-listeners.js";
import { httpProxyListener, virtualOutbound } from "./outbound/virtual-outbound.js";

/** All listeners of the client (LDS). */
export const listeners = query("listeners", (q): ResourceSet => {
  // Proxyless gRPC applications request listeners by name.
  if (q.ask(isProxylessGrpc)) return ResourceSet.empty;
  switch (q.ask(proxyType)) {
    case "sidecar":
      return withTunnels(q, mesh(q).proxyListenPort === 0 ? ResourceSet.empty : sidecarListeners(q));
    case "router":
      return withTunnels(q, q.call(gatewayListeners));
    default:
      return ResourceSet.empty;
  }
});

/** Adds the listener that opens HBONE tunnels, if the mesh sends through HBONE. */
function withTunnels(q: QueryContext, own: ResourceSet): ResourceSet {
  return features.sendHbone(q) ? ResourceSet.union([own, ResourceSet.of([q.call(connectOriginateListener)])]) : own;
}

function sidecarListeners(q: QueryContext): ResourceSet {
  const terminating = terminatesTunnels(q) ? [q.call(connectTerminateListener), q.call(mainInternalListener)] : [];
  const own = [q.call(httpProxyListener), q.call(virtualOutbound), ...inboundListeners(q), ...terminating].filter(
    (found) => found !== undefined,
  );
  return ResourceSet.union([...outboundListeners(q), ResourceSet.of(own)]);
}
