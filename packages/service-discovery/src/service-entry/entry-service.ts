import { namespaces, serviceEntries, type ServiceEntryObject } from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";
import type { Service } from "../model/service.js";
import { settings } from "../settings/features.js";
import { visibilityLimit } from "../settings/mesh.js";
import { addressesOf, convertServiceEntry } from "./convert-service-entry.js";
import { hashedAddresses } from "./hashed-addresses.js";

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
      hashedAddresses: settings.ipAutoallocate(q)
        ? undefined
        : () => q.call(hashedAddresses, `${at.namespace}/${at.hostname}`),
      addCanonicalLabels: settings.canonicalServiceForMeshExternal(q),
    });
  },
);
