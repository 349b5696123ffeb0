import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { type Resource, resource } from "@istiod/resources";
import { joinEncoded } from "../envoy/encode.js";

/** Responses that proxies give themselves may be this long; Envoy's own limit is 4096 bytes. */
export const maxDirectResponseBytes = 1024 * 1024;

/** A route configuration whose virtual hosts are encoded already. Clusters that it names need not exist. */
export function encodedRouteConfiguration(
  head: MessageInitShape<typeof RouteConfigurationSchema> & { readonly name: string },
  virtualHosts: readonly Uint8Array[],
): Resource {
  const own = toBinary(RouteConfigurationSchema, create(RouteConfigurationSchema, { validateClusters: false, ...head }));
  return resource(head.name, joinEncoded([own, ...virtualHosts]));
}
