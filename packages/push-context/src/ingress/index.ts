export { ingressGateways } from "./ingress-gateways.js";
export { ingressVirtualService, ingressVirtualServiceKeys } from "./ingress-virtual-services.js";
