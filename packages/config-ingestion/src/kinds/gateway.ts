import { collection, index } from "@istiod/incremental";
import { GatewaySchema, type Gateway } from "@istiod/istio-api/networking/v1alpha3/gateway";
import type { ConfigObject } from "../config-object.js";
import { istioKind } from "./istio-kind.js";

export type GatewayObject = ConfigObject<Gateway>;

export const gateways = collection<GatewayObject>("Gateway");

export const gatewaysByNamespace = index(gateways, "byNamespace", (v) => [v.namespace]);

export const gatewayKind = istioKind({
  kind: "Gateway",
  group: "networking.istio.io",
  versions: ["v1", "v1beta1", "v1alpha3"],
  schema: GatewaySchema,
  collection: gateways,
});
