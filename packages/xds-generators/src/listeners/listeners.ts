import { query } from "@istiod/incremental";
import { mesh, proxylessGrpc, proxyType } from "@istiod/push-context";
import { type Resource, ResourceSet } from "@istiod/resources";
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
        return mesh(q).proxyListenPort === 0 ? ResourceSet.empty : q.call(sidecarListeners);
      case "router":
        return q.call(gatewayListeners);
      default:
        return ResourceSet.empty;
    }
  },
);

const sidecarListeners = query(
  "sidecarListeners",
  (q): ResourceSet => {
    const own = [q.call(httpProxyListener), q.call(virtualOutbound), ...q.call(inboundListeners)].filter((found): found is Resource => found !== undefined);
    return ResourceSet.union([q.call(outboundListeners), ResourceSet.of(own)]);
  },
);
