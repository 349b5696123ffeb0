import type { VirtualServiceObject } from "@istiod/config-schema";
import { query } from "@istiod/incremental";

/** Keys (`namespace/name`) of the VirtualServices that stand for routes of the Gateway API. */
export const gatewayApiVirtualServiceKeys = query("gatewayApiVirtualServiceKeys", (): readonly string[] => []);

/**
 * A VirtualService that stands for the routes of one namespace with the same parent and host. Source:
 * pilot/pkg/config/kube/gateway/route_collections.go.
 */
export const gatewayApiVirtualService = query(
  "gatewayApiVirtualService",
  (_q, _key: string): VirtualServiceObject | undefined => undefined,
);
