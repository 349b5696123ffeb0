import { collection, index } from "@istiod/incremental";
import { VirtualServiceSchema, type VirtualService } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import type { ConfigObject } from "../config-object.js";
import { hostBucket } from "./host-bucket.js";
import { istioKind } from "./istio-kind.js";

export type VirtualServiceObject = ConfigObject<VirtualService>;

export const virtualServices = collection<VirtualServiceObject>("VirtualService");

/** By host: as written, or `ns/host` for a short name (see `hostBuckets`). Delegates have no host and are in no bucket. */
export const virtualServicesByHost = index(virtualServices, "byHost", (v) => v.spec.hosts.map((host) => hostBucket(host, v.namespace)));

/** By the gateway that it is attached to: `mesh`, or `ns/name`. Without any, `mesh`. A delegate is in no bucket. */
export const virtualServicesByGateway = index(virtualServices, "byGateway", (v) => {
  if (v.spec.hosts.length === 0) return [];
  return v.spec.gateways.length === 0 ? ["mesh"] : v.spec.gateways.map((name) => gatewayName(name, v.namespace));
});

export const virtualServicesByNamespace = index(virtualServices, "byNamespace", (v) => [v.namespace]);

/** `ns/name` of a gateway that a route names: a bare name means the route's namespace, `./name` too; `mesh` is itself. */
export function gatewayName(name: string, namespace: string): string {
  if (name === "mesh") return name;
  const slash = name.indexOf("/");
  if (slash < 0) return `${namespace}/${name}`;
  return name.slice(0, slash) === "." ? `${namespace}/${name.slice(slash + 1)}` : name;
}

export const virtualServiceKind = istioKind({
  kind: "VirtualService",
  group: "networking.istio.io",
  versions: ["v1", "v1beta1", "v1alpha3"],
  schema: VirtualServiceSchema,
  collection: virtualServices,
});
