import type { Metadata } from "@istiod/envoy-api/envoy/config/core/v3/base";

/**
 * The object that Istio says in a resource's metadata to have configured it, as `name.namespace`; empty if there is
 * none. It is written as the path of a Kubernetes object:
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
