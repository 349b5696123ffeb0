import type { ConfigObject } from "@istiod/config-schema";

type Labelled = Pick<ConfigObject<unknown>, "namespace" | "labels">;

/** Values of `gateway.istio.io/managed` on objects that istiod creates for the Gateway API. */
const managedBy = new Set(["istio.io-gateway-controller", "istio.io-mesh-controller", "istio.io-eastwest-controller"]);

/** Reports whether an object belongs to the control plane's own installation. */
export function isControlPlane({ labels }: Labelled): boolean {
  return labels["istio"] !== undefined || labels["release"] === "istio";
}

/** Reports whether istiod created an object for a Gateway of the Gateway API. */
export function isManagedGateway({ labels }: Labelled): boolean {
  return managedBy.has(labels["gateway.istio.io/managed"] ?? "");
}
