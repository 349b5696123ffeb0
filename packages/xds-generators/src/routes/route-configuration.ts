import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { joinEncoded } from "@istiod/protobuf-wire";
import {
  type Failure,
  type Resource,
  resource,
  resourceOfParts,
  type ResourcePart,
  resourcePart,
} from "@istiod/resources";

/** The maximum size of direct responses, in bytes. Envoy's default is 4096. */
export const maxDirectResponseBytes = 1024 * 1024;

/** The name and settings of a route configuration. */
type RouteConfigurationHead = MessageInitShape<typeof RouteConfigurationSchema> & { readonly name: string };

/** Returns a route configuration with encoded virtual hosts. Its clusters need not exist. */
export function newRouteConfiguration(head: RouteConfigurationHead, virtualHosts: readonly Uint8Array[]): Resource {
  return resource(head.name, joinEncoded([encodeHead(head), ...virtualHosts]));
}

/** Returns a route configuration with chunks of virtual hosts that are already hashed. */
export function routeConfigurationOfParts(
  head: RouteConfigurationHead,
  virtualHosts: readonly ResourcePart[],
): Resource {
  return resourceOfParts(head.name, [resourcePart(encodeHead(head)), ...virtualHosts]);
}

function encodeHead(head: RouteConfigurationHead): Uint8Array {
  return toBinary(RouteConfigurationSchema, create(RouteConfigurationSchema, { validateClusters: false, ...head }));
}

/** Returns a route configuration with the failures of its virtual hosts, all of which get its name. */
export function withFailures(configuration: Resource, failures: readonly Failure[]): Resource {
  const { name } = configuration;
  const all = [...(configuration.failures ?? []), ...failures];
  return all.length === 0 ? configuration : { ...configuration, failures: all.map((each) => ({ ...each, name })) };
}
