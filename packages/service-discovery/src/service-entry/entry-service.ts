import { isIP, isIPv4 } from "node:net";
import { namespaces, serviceEntries, type ServiceEntryObject } from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";
import type { Service } from "../model/service.js";
import { settings } from "../settings/features.js";
import { visibilityLimit } from "../settings/mesh.js";
import { backendEntriesOf, backendEntryNamed } from "./backend-entries.js";
import { addressesInStatus, addressesOf, allocatesAddresses, convertServiceEntry } from "./convert-service-entry.js";
import { type HashedAddresses, hashedAddresses } from "./hashed-addresses.js";

/** ServiceEntries by each service key (`namespace/host`) that they declare. */
export const serviceEntriesByKey = index(serviceEntries, "byKey", (entry) =>
  entry.spec.hosts.map((host) => `${entry.namespace}/${host}`),
);

/** Returns the ServiceEntries that declare a service key (`namespace/host`), also for XBackends, by age and name. */
export function serviceEntriesOf(q: QueryContext, key: string): readonly ServiceEntryObject[] {
  return [...q.read(serviceEntriesByKey, key), ...backendEntriesOf(q, key)].sort(
    (a, b) => a.creationTimestamp - b.creationTimestamp || (a.name < b.name ? -1 : 1),
  );
}

/** Returns the ServiceEntry `namespace/name`, which may stand for an XBackend. */
export function serviceEntryNamed(q: QueryContext, key: string): ServiceEntryObject | undefined {
  return q.read(serviceEntries, key) ?? backendEntryNamed(q, key);
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
    const entry = serviceEntryNamed(q, `${at.namespace}/${at.objectName}`);
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
 * have the same ones, so that each port of the host listens at the addresses of its name: those that one of them gives,
 * else those in the status of the oldest.
 */
function allocatedAddresses(
  q: QueryContext,
  entry: ServiceEntryObject,
  hostname: string,
): Partial<HashedAddresses> | undefined {
  const key = `${entry.namespace}/${hostname}`;
  const shared = allocatesAddresses(entry) ? q.call(sharedAddresses, key) : {};
  if (shared.given !== undefined) return shared.given;
  if (!settings.ipAutoallocate(q)) return q.call(hashedAddresses, key);
  return allocatesAddresses(entry) ? (shared.inStatus ?? {}) : undefined;
}

interface SharedAddresses {
  /** Addresses in `spec.addresses`, the first of each family. */
  readonly given?: Partial<HashedAddresses>;
  readonly inStatus?: Partial<HashedAddresses>;
}

const sharedAddresses = query("sharedAddresses", (q, key: string): SharedAddresses => {
  const hostname = key.slice(key.indexOf("/") + 1);
  const entries = serviceEntriesOf(q, key);
  const given = entries.map(givenAddresses).find(isAny);
  const inStatus = entries
    .filter(allocatesAddresses)
    .map((entry) => addressesInStatus(entry, hostname))
    .find(isAny);
  return { ...(given && { given }), ...(inStatus && { inStatus }) };
});

function givenAddresses(entry: ServiceEntryObject): Partial<HashedAddresses> {
  const ips = entry.spec.addresses.length === 0 ? [] : addressesOf(entry).filter((address) => isIP(address) !== 0);
  const ipv4 = ips.find((address) => isIPv4(address));
  const ipv6 = ips.find((address) => !isIPv4(address));
  return { ...(ipv4 !== undefined && { ipv4 }), ...(ipv6 !== undefined && { ipv6 }) };
}

function isAny({ ipv4, ipv6 }: Partial<HashedAddresses>): boolean {
  return ipv4 !== undefined || ipv6 !== undefined;
}
