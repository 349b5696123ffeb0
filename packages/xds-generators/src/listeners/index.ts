export type { ChainSource, ListenerConflict } from "./listener-conflicts.js";
export { allGatewayConflicts, gatewayListenerConflicts } from "./gateway/gateway-listeners.js";
export { allIngressConflicts, ingressConflicts } from "./inbound/ingress-conflicts.js";
export { outboundListenerConflicts } from "./outbound/outbound-plans.js";
export { listeners, unpatchedListeners } from "./listeners.js";
