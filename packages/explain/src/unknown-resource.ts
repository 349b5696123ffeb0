import { fromBinary } from "@bufbuild/protobuf";
import { nearestNames } from "@istiod/settings";
import { ClusterLoadAssignmentSchema } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import type { View } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import type { Resource } from "@istiod/resources";
import { generators } from "@istiod/xds-generators";
import { type ResourceType, resourceTypes } from "./resource-types.js";

/**
 * Reports whether a resource that was looked up by name only says that the name is unknown: endpoints of no cluster, or
 * a route configuration that knows no host. The route configuration of a port is known for every port.
 */
export function isOfUnknownName({ short }: ResourceType, { name, bytes }: Resource): boolean {
  if (short === "eds") return fromBinary(ClusterLoadAssignmentSchema, bytes).endpoints.length === 0;
  if (short !== "rds" || isPort(name)) return false;
  return fromBinary(RouteConfigurationSchema, bytes).virtualHosts.every(({ domains }) =>
    domains.every((domain) => domain === "*"),
  );
}

function isPort(name: string): boolean {
  return /^[1-9]\d{0,4}$/.test(name) && Number(name) <= 65_535;
}

/** A resource by its type's short name and its own name. */
export interface ResourceName {
  readonly type: string;
  readonly name: string;
}

/**
 * Returns resources of a client that a name is likely meant for, best first: those that are spelled like it, else those
 * that contain it. Each name once, with the first of the types that have it.
 */
export function nearestResources(
  view: View<Proxy>,
  name: string,
  types: readonly ResourceType[] = resourceTypes,
  limit = 3,
): readonly ResourceName[] {
  const typeOf = new Map<string, string>();
  for (const { typeUrl, short } of types) {
    const generator = generators[typeUrl];
    for (const resource of generator === undefined ? [] : view.call(generator)) {
      if (!typeOf.has(resource.name)) typeOf.set(resource.name, short);
    }
  }
  const spelled = nearestNames(name, typeOf.keys(), limit);
  const names = spelled.length > 0 ? spelled : containing(name, [...typeOf.keys()]).slice(0, limit);
  return names.map((near) => ({ type: typeOf.get(near) ?? "", name: near }));
}

/** Shortest name that others are looked through for. */
const shortestPart = 3;

function containing(part: string, names: readonly string[]): readonly string[] {
  const wanted = part.toLowerCase();
  return wanted.length < shortestPart
    ? []
    : names
        .filter((name) => name !== part && name.toLowerCase().includes(wanted))
        .sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
}
