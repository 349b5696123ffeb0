import type { Metadata } from "@istiod/envoy-api/envoy/config/core/v3/base";

/**
 * Returns the object that configured a resource, as `name.namespace`, from Istio's metadata; empty if there is none.
 * The metadata has the path of the Kubernetes object:
 * `/apis/networking.istio.io/v1/namespaces/shop/virtual-service/cart`.
 */
export function managedBy(metadata: Metadata | undefined): string {
  const config = metadata?.filterMetadata["istio"]?.["config"];
  if (config === undefined) return "";
  const path = typeof config === "string" ? config : "";
  if (!path.startsWith("/apis/networking.istio.io/")) return "<unknown>";
  const pieces = path.split("/");
  return pieces.length === 8 ? `${pieces[7]}.${pieces[5]}` : "";
}
