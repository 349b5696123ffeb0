import type { Database, View } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import type { Resource } from "@istiod/resources";
import type { Producer } from "../provenance/producer.js";
import type { ResourceType } from "../resource-types.js";
import { portsOfAliases } from "./aliases.js";
import { ignoredDestinationRules } from "./destination-rules.js";
import { rejectedServers } from "./gateway-servers.js";
import type { IgnoredConfig } from "./ignored-config.js";
import { conflictsOfListener } from "./listener-conflicts.js";
import { overriddenPeerAuthentications } from "./peer-authentications.js";
import { ignoredServices } from "./services.js";
import { ignoredSidecars } from "./sidecars.js";
import { undiscoveredObjects } from "./undiscovered-namespaces.js";
import { providersWithoutEffect } from "./unserved-providers.js";
import { invalidDelegates, shadowedVirtualServices, unreachableVirtualServices } from "./virtual-services.js";

export type { IgnoredConfig, ObjectReference } from "./ignored-config.js";

/** Returns the objects that could have affected a resource, and are ignored for it as a whole or in part. */
export function ignoredConfigs(
  database: Database<Proxy>,
  view: View<Proxy>,
  type: ResourceType,
  resource: Resource,
  producer: Producer,
): readonly IgnoredConfig[] {
  const { name } = resource;
  const all = [
    ...(type.short === "rds"
      ? [...shadowedVirtualServices(view, name), ...unreachableVirtualServices(view, name)]
      : []),
    ...(type.short === "lds" ? [...conflictsOfListener(view, name), ...providersWithoutEffect(view, resource)] : []),
    ...ignoredServices(view, type, name),
    ...portsOfAliases(view, type, name),
    ...invalidDelegates(producer),
    ...ignoredDestinationRules(database, view, producer),
    ...rejectedServers(view, producer),
    ...ignoredSidecars(database, view, producer),
    ...overriddenPeerAuthentications(database, view, producer),
    ...undiscoveredObjects(database, producer),
  ];
  return [...new Map(all.map((ignored) => [JSON.stringify(ignored), ignored])).values()];
}
