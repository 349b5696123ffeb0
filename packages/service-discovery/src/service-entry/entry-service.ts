import { namespaces, serviceEntries, type ServiceEntryObject } from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";
import type { Service } from "../model/service.js";
import { settings } from "../settings/features.js";
import { visibilityLimit } from "../settings/mesh.js";
import { addressesInStatus, addressesOf, allocatesAddresses, convertServiceEntry } from "./convert-service-entry.js";
import { type HashedAddresses, hashedAddresses } from "./hashed-addresses.js";

/** ServiceEntries by each service key (`namespace/host`) that they declare. */
export const serviceEntriesByKey = index(serviceEntries, "byKey", (entry) =>
  entry.spec.hosts.map((host) => `${entry.namespace}/${host}`),
);

/** Returns the ServiceEntries that declare a service key (`namespace/host`), by age and name. */
export function serviceEntriesOf(q: QueryContext, key: string): readonly ServiceEntryObject[] {
  return [...q.read(serviceEntriesByKey, key)].sort(
    (a, b) => a.creationTimestamp - b.creationTimestamp || (a.name < b.name ? -1 : 1),
  );
}

/** One host of a ServiceEntry at one address. */
export interface EntryDeclaration {
  readonly namespace: string;
  readonly objectName: string;
  readonly hostname: string;
  readonly address: string;
}

/** The service of a declaration, with its ID; undefined if the ServiceEntry no longer declares it. */
export const entryService = query(
  "entryService",
  (q, at: EntryDeclaration & { readonly id: string }): Service | undefined => {
    const entry = q.read(serviceEntries, `${at.namespace}/${at.objectName}`);
    if (entry === undefined || !entry.spec.hosts.includes(at.hostname) || !addressesOf(entry).includes(at.address))
      return undefined;
    return convertServiceEntry(entry, at, {
      namespaceAnnotations: q.read(namespaces, `${entry.cluster}/${entry.namespace}`)?.annotations ?? {},
      visibility: visibilityLimit(q, entry.cluster, entry.namespace),
      allocated: allocatedAddresses(q, entry, at.hostname),
      addCanonicalLabels: settings.canonicalServiceForMeshExternal(q),
    });
  },
);

/**
 * Returns the addresses that are allocated to a host of a ServiceEntry. All ServiceEntries of the host in the namespace
 * have the same ones, those of the oldest, so that each port of the host listens at every address of its name.
 */
function allocatedAddresses(
  q: QueryContext,
  entry: ServiceEntryObject,
  hostname: string,
): Partial<HashedAddresses> | undefined {
  const key = `${entry.namespace}/${hostname}`;
  if (!settings.ipAutoallocate(q)) return q.call(hashedAddresses, key);
  return allocatesAddresses(entry) ? q.call(addressesInStatuses, key) : undefined;
}

const addressesInStatuses = query("addressesInStatuses", (q, key: string): Partial<HashedAddresses> => {
  const hostname = key.slice(key.indexOf("/") + 1);
  const found = serviceEntriesOf(q, key)
    .filter(allocatesAddresses)
    .map((entry) => addressesInStatus(entry, hostname))
    .find(({ ipv4, ipv6 }) => ipv4 !== undefined || ipv6 !== undefined);
  return found ?? {};
});
