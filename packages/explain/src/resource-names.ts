import { fromBinary } from "@bufbuild/protobuf";
import { nearestNames } from "@istiod/settings";
import { ClusterLoadAssignmentSchema } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import type { View } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import type { Resource } from "@istiod/resources";
import { generators } from "@istiod/xds-generators";
import { type ResourceType, resourceTypes } from "./resource-types.js";

/** A resource's name with the short name of its type. */
export interface ResourceName {
  readonly type: string;
  readonly name: string;
}

/**
 * Returns resources of a client whose names resemble a name, closest first: by spelling, else those that contain it. A
 * name that several types have is returned once, with the first of these types.
 */
export function nearestResources(
  view: View<Proxy>,
  name: string,
  types: readonly ResourceType[] = resourceTypes,
  limit = 3,
): readonly ResourceName[] {
  const typeByName = new Map<string, string>();
  for (const { typeUrl, short } of types) {
    const generator = generators[typeUrl];
    for (const resource of generator === undefined ? [] : view.call(generator)) {
      if (!typeByName.has(resource.name)) typeByName.set(resource.name, short);
    }
  }
  const similar = nearestNames(name, typeByName.keys(), limit);
  const names = similar.length > 0 ? similar : namesContaining(name, [...typeByName.keys()]).slice(0, limit);
  return names.map((near) => ({ type: typeByName.get(near) ?? "", name: near }));
}

const minSubstringLength = 3;

function namesContaining(substring: string, names: readonly string[]): readonly string[] {
  const wanted = substring.toLowerCase();
  return wanted.length < minSubstringLength
    ? []
    : names
        .filter((name) => name !== substring && name.toLowerCase().includes(wanted))
        .sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
}

/**
 * Reports whether a looked-up resource is an empty placeholder for an unknown name: an assignment without endpoints, or
 * a route configuration without hosts. The route configuration of a port is never a placeholder.
 */
export function isPlaceholder({ short }: ResourceType, { name, bytes }: Resource): boolean {
  if (short === "eds") return fromBinary(ClusterLoadAssignmentSchema, bytes).endpoints.length === 0;
  if (short !== "rds" || isPort(name)) return false;
  return fromBinary(RouteConfigurationSchema, bytes).virtualHosts.every(({ domains }) =>
    domains.every((domain) => domain === "*"),
  );
}

function isPort(name: string): boolean {
  return /^[1-9]\d{0,4}$/.test(name) && Number(name) <= 65_535;
}
