import { collection, query } from "@istiod/incremental";
import type { ResourceType } from "@istiod/kubernetes";
import type { Controller, Observed, Watch } from "../controller/controller.js";
import type { Write } from "../controller/write.js";
import { discovery, type Scope } from "../inputs/discovery.js";
import type { AddressPrefix } from "./address-prefix.js";
import { allocate, type Allocation } from "./allocate.js";
import { deletedServiceEntry, type ObservedServiceEntry, observeServiceEntry } from "./observed-service-entry.js";

export interface IpAllocationOptions extends Scope {
  /** The ranges of addresses, in the order of the addresses of a host. */
  readonly prefixes: readonly AddressPrefix[];
}

const serviceEntryType: ResourceType = {
  group: "networking.istio.io",
  version: "v1",
  kind: "ServiceEntry",
  plural: "serviceentries",
  namespaced: true,
};

/**
 * Returns the controller of the addresses of ServiceEntries without own ones (`status.addresses`): one of each range
 * for every host. Writes are made one by one, so that each is computed with the answers to those before it.
 */
export function ipAllocationController(options: IpAllocationOptions): Controller {
  const serviceEntries = collection<Observed<ObservedServiceEntry>>("ServiceEntry");
  const discovered = discovery(options);
  const allocation = query("addressAllocation", (q): Allocation => {
    const entries = new Map<string, ObservedServiceEntry>();
    for (const key of q.keys(serviceEntries)) {
      const entry = q.read(serviceEntries, key)?.value;
      if (entry === undefined) continue;
      if (!entry.exists || q.call(discovered.isActive, namespaceOf(key))) entries.set(key, entry);
    }
    return allocate(entries, options.prefixes);
  });
  const targets = query("serviceEntriesToAllocate", (q): readonly string[] => Object.keys(q.call(allocation)));
  const write = query("serviceEntryAddresses", (q, key: string): Write | undefined => {
    const observed = q.read(serviceEntries, key);
    const addresses = q.call(allocation)[key];
    if (observed === undefined || addresses === undefined) return undefined;
    const namespace = namespaceOf(key);
    const { resourceVersion } = observed;
    return {
      action: "merge",
      type: serviceEntryType,
      name: { namespace, name: key.slice(namespace.length + 1) },
      subresource: "status",
      base: resourceVersion,
      fields: { metadata: { resourceVersion }, status: { addresses } },
    };
  });
  const watch: Watch<ObservedServiceEntry> = {
    type: serviceEntryType,
    collection: serviceEntries,
    ...(options.namespace !== undefined && { namespace: options.namespace }),
    fields: {
      metadata: { labels: true, creationTimestamp: true },
      spec: { hosts: true, addresses: true, resolution: true },
      status: { addresses: true },
    },
    select: observeServiceEntry,
    deleted: deletedServiceEntry,
  };
  return {
    name: "IP autoallocate controller",
    fieldManager: "istiod-ip-autoallocate",
    concurrency: 1,
    watches: [discovered.watch, watch as Watch],
    inputs: discovered.inputs,
    targets,
    write,
  };
}

function namespaceOf(key: string): string {
  return key.slice(0, key.indexOf("/"));
}
