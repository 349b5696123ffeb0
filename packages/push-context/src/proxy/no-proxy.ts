import { proxyFromNode } from "./from-node.js";

/** The client of queries whose results do not depend on the proxy. */
export const noProxy = proxyFromNode({ id: "router~127.0.0.1~istiod.istio-system~istio-system.svc.cluster.local" });
