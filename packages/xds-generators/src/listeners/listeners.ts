import { query, type QueryContext } from "@istiod/incremental";
import { mesh, proxylessGrpc, proxyType } from "@istiod/push-context";
import { ResourceSet } from "@istiod/resources";
import { gatewayListeners } from "./gateway-listeners.js";
import { inboundListeners } from "./inbound-listener.js";
import { outboundListeners } from "./outbound-listeners.js";
import { httpProxyListener, virtualOutbound } from "./virtual-outbound.js";

/** All listeners of the client (LDS). */
export const listeners = query(
  "listeners",
  (q): ResourceSet => {
    // An application that speaks gRPC itself names the listeners that it wants.
    if (q.ask(proxylessGrpc)) return ResourceSet.empty;
    switch (q.ask(proxyType)) {
      case "sidecar":
        return mesh(q).proxyListenPort === 0 ? ResourceSet.empty : sidecarListeners(q);
      case "router":
        return q.call(gatewayListeners);
      default:
        return ResourceSet.empty;
    }
  },
);

function sidecarListeners(q: QueryContext): ResourceSet {
  const own = [q.call(httpProxyListener), q.call(virtualOutbound), ...inboundListeners(q)].filter((found) => found !== undefined);
  return ResourceSet.union([...outboundListeners(q), ResourceSet.of(own)]);
}
