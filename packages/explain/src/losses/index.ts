import type { Database, View } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import type { Maker } from "../maker.js";
import type { ResourceType } from "../resource-types.js";
import { lostAtListener } from "./connections.js";
import { losingDestinationRules } from "./destination-rules.js";
import { refusedServers } from "./gateways.js";
import type { Loss } from "./loss.js";
import { youngerPeerAuthentications } from "./peer-authentications.js";
import { losingServices } from "./services.js";
import { losingSidecars } from "./sidecars.js";
import { undiscoveredObjects } from "./undiscovered.js";
import { delegateProblems, hiddenVirtualServices, shadowedVirtualServices } from "./virtual-services.js";

export type { Loss, NamedObject } from "./loss.js";

/** The objects that a resource could have been made from, and was not, or only in part. */
export function losses(
  database: Database<Proxy>,
  view: View<Proxy>,
  type: ResourceType,
  name: string,
  maker: Maker,
): readonly Loss[] {
  const all = [
    ...(type.short === "rds" ? [...shadowedVirtualServices(view, name), ...hiddenVirtualServices(view, name)] : []),
    ...(type.short === "lds" ? lostAtListener(view, name) : []),
    ...losingServices(view, type, name),
    ...delegateProblems(maker),
    ...losingDestinationRules(database, view, maker),
    ...refusedServers(maker),
    ...losingSidecars(database, view, maker),
    ...youngerPeerAuthentications(database, view, maker),
    ...undiscoveredObjects(database, maker),
  ];
  return [...new Map(all.map((each) => [JSON.stringify(each), each])).values()];
}
