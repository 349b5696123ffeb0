import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { type Resource, resource, resourceOfParts, type ResourcePart, resourcePart } from "@istiod/resources";
import { concatBytes } from "../encoding/encode.js";

/** Responses that proxies give themselves may be this long; Envoy's own limit is 4096 bytes. */
export const maxDirectResponseBytes = 1024 * 1024;

/** Name and settings of a route configuration. */
type RouteConfigurationHead = MessageInitShape<typeof RouteConfigurationSchema> & { readonly name: string };

/** A route configuration whose virtual hosts are encoded already. Clusters that it names need not exist. */
export function newRouteConfiguration(head: RouteConfigurationHead, virtualHosts: readonly Uint8Array[]): Resource {
  return resource(head.name, concatBytes([encodeHead(head), ...virtualHosts]));
}

/** The same of stretches of virtual hosts that are hashed already. */
export function routeConfigurationOfParts(
  head: RouteConfigurationHead,
  virtualHosts: readonly ResourcePart[],
): Resource {
  return resourceOfParts(head.name, [resourcePart(encodeHead(head)), ...virtualHosts]);
}

function encodeHead(head: RouteConfigurationHead): Uint8Array {
  return toBinary(RouteConfigurationSchema, create(RouteConfigurationSchema, { validateClusters: false, ...head }));
}
