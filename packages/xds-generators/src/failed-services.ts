import { query, type QueryContext } from "@istiod/incremental";
import { failedServices, failedVirtualServices, mergedGateway, routeDeclarations } from "@istiod/push-context";
import { type Failure, ResourceSet } from "@istiod/resources";
import { splitKey, keyOfId } from "@istiod/service-discovery";
import { serviceObject } from "./attempt.js";

/** The clusters, or load assignments, of services that cannot be read, as failures. */
export const failedServiceResources = query("failedServiceResources", (q): ResourceSet =>
  ResourceSet.of(
    [],
    q.call(failedServices).flatMap(({ id, message }) => {
      const objects = [serviceObject(id)];
      const hostname = hostnameOf(id);
      return (["|", "_."] as const).map((end) => ({
        name: `${end}${hostname}`,
        match: "end" as const,
        objects,
        message,
      }));
    }),
  ),
);

/**
 * The listeners of services that cannot be read, as failures. Their addresses are not known, so that every listener
 * that would be removed is kept.
 */
export const failedServiceListeners = query("failedServiceListeners", (q): ResourceSet =>
  ResourceSet.of(
    [],
    q
      .call(failedServices)
      .map(({ id, message }) => ({ name: "", match: "start" as const, objects: [serviceObject(id)], message })),
  ),
);

/**
 * Failures of listeners or route configurations of servers of Gateways that cannot be read: each one that would be
 * removed is kept.
 */
export const failedGatewayResources = query("failedGatewayResources", (q): ResourceSet =>
  ResourceSet.of(
    [],
    failedServers(q).map(({ objects, message }) => ({ name: "", match: "start" as const, objects, message })),
  ),
);

function failedServers(q: QueryContext): readonly Pick<Failure, "objects" | "message">[] {
  const rejected = q.call(mergedGateway)?.rejected ?? [];
  return rejected
    .filter(({ failed }) => failed === true)
    .map(({ gateway, index, reason }) => ({
      objects: [`Gateway ${gateway}`],
      message: `servers[${index}]: ${reason}`,
    }));
}

/** The virtual hosts of services and VirtualServices that cannot be read, as failures of a route configuration. */
export const failedVirtualHosts = query("failedVirtualHosts", (q, name: string): readonly Failure[] => [
  ...failedServers(q).map((each) => ({ ...each, name, part: { name: "", match: "start" as const } })),
  ...q.call(failedServices).map(({ id, message }) => ({
    name,
    part: { name: `${hostnameOf(id)}:`, match: "start" as const },
    objects: [serviceObject(id)],
    message,
  })),
  ...q.call(failedVirtualServices).flatMap(({ key, hosts, message }) =>
    hosts.map((host) => ({
      name,
      part: { name: `${host.toLowerCase()}:`, match: "start" as const, replaced: true as const },
      objects: q.call(routeDeclarations, key),
      message,
    })),
  ),
]);

/** The names of services that cannot be read, as failures of the name table. */
export const failedNames = query("failedNames", (q): readonly Failure[] =>
  q.call(failedServices).map(({ id, message }) => ({
    name: "",
    part: { name: hostnameOf(id), match: "end" as const },
    objects: [serviceObject(id)],
    message,
  })),
);

function hostnameOf(id: string): string {
  return splitKey(keyOfId(id))[1];
}
