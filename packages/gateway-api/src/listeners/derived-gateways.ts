import type { GatewayObject } from "@istiod/config-schema";
import { query } from "@istiod/incremental";

/**
 * The Istio Gateways that stand for listeners of the Gateway API, by `namespace/name`: one with a single server for
 * each listener, in the namespace of its Gateway or ListenerSet. Names contain `~`, which no name of an object can. Source:
 * pilot/pkg/config/kube/gateway/gateway_collection.go.
 */
export const gatewayApiGateways = query("gatewayApiGateways", (): Readonly<Record<string, GatewayObject>> => ({}));
