import { serviceEntries } from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import { isWildcardHost } from "../model/service.js";
import { resolutionOf } from "./resolution.js";

/** Addresses that istiod derives by hash for a service without one. */
export interface HashedAddresses {
  readonly ipv4: string;
  readonly ipv6: string;
}

/** Number of addresses in 240.240.0.0/16 that do not end in 0 or 255. */
const slots = 256 * 254;
/** The largest prime smaller than the number of slots. */
const prime = 65011;

/**
 * The hashed addresses of a service (`namespace/host`) if auto-allocation is disabled
 * (`PILOT_ENABLE_IP_AUTOALLOCATE=false`): from the hash of its key, with double hashing among all services without an
 * address, so that replicas agree. Source: `serviceentry/auto_allocation.go`.
 */
export const hashedAddresses = query(
  "hashedAddresses",
  (q, key: string): HashedAddresses | undefined => q.call(allHashedAddresses)[key],
);

const allHashedAddresses = query("allHashedAddresses", (q): Readonly<Record<string, HashedAddresses>> => {
  const taken = new Array<string | undefined>(slots);
  const keys = q
    .keys(serviceEntries)
    .flatMap((entry) => q.call(keysToAllocate, entry))
    .sort();
  for (const key of keys.slice(0, slots)) taken[freeSlot(taken, fnv32a(key))] = key;
  const out: Record<string, HashedAddresses> = {};
  let at = 0;
  for (const key of taken) {
    at++;
    if (key === undefined) continue;
    if (at % 255 === 0) at++;
    out[key] ??= addressesAt(Math.floor(at / 255), at % 255);
  }
  return out;
});

/** Service keys of a ServiceEntry that need an address. */
const keysToAllocate = query("keysToAllocate", (q, entry: string): readonly string[] => {
  const object = q.read(serviceEntries, entry);
  if (object === undefined || object.spec.addresses.length > 0 || resolutionOf(object) === "Passthrough") return [];
  return object.spec.hosts.filter((host) => !isWildcardHost(host)).map((host) => `${object.namespace}/${host}`);
});

function freeSlot(taken: readonly (string | undefined)[], hash: number): number {
  if (taken[hash % slots] === undefined) return hash % slots;
  const step = prime - (hash % prime);
  for (let i = 1; ; i++) {
    const slot = ((hash + Math.imul(i, step)) >>> 0) % (slots - 1);
    if (taken[slot] === undefined) return slot;
  }
}

function addressesAt(third: number, fourth: number): HashedAddresses {
  const low = third === 0 ? fourth.toString(16) : third.toString(16) + fourth.toString(16);
  return { ipv4: `240.240.${third}.${fourth}`, ipv6: `2001:2::f0f0:${low}` };
}

/** Returns the 32-bit FNV-1a hash. */
function fnv32a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}
