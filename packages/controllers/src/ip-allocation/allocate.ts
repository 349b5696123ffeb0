import { type AddressPrefix, containsAddress, formatAddress, parseAddress } from "./address-prefix.js";
import type { HostAddress, ObservedServiceEntry } from "./observed-service-entry.js";

/** Addresses of ServiceEntries by their keys. */
export type Allocation = Readonly<Record<string, readonly HostAddress[]>>;

/**
 * Returns the desired addresses of all ServiceEntries that do not have them. Allocated addresses stay, except in a
 * conflict: an address in `spec.addresses` of another ServiceEntry has precedence, and otherwise the oldest
 * ServiceEntry that it is allocated to. The others get new addresses for all of their hosts. ServiceEntries of one
 * namespace share the addresses of a host, those of the oldest: its name resolves to them, whatever the port.
 *
 * @param prefixes the ranges in the order of the addresses of a host. Addresses outside of them are not looked at
 */
export function allocate(
  entries: ReadonlyMap<string, ObservedServiceEntry>,
  prefixes: readonly AddressPrefix[],
): Allocation {
  const existing = [...entries].filter(([, { exists }]) => exists);
  // The older first, so that addresses of a first start are those of the order of creation.
  const sorted = existing.sort(
    ([a, { creationTimestamp: at }], [b, { creationTimestamp: bt }]) => compare(at, bt) || compare(a, b),
  );
  const use = new AddressUse(prefixes);
  for (const [key, { userAddresses }] of sorted) for (const address of userAddresses) use.byUser(address, key);
  const reassigned = new Set<string>();
  for (const [key, { allocated }] of sorted)
    for (const { host, value } of allocated) if (!use.byAllocation(value, ownerOf(key, host))) reassigned.add(key);
  for (const { former } of entries.values()) for (const address of former) use.formerly(address);

  const shared = sharedAddresses(sorted.filter(([key]) => !reassigned.has(key)));
  const result: Record<string, readonly HostAddress[]> = {};
  for (const [key, entry] of sorted) {
    const wanted = addressesFor(entry, reassigned.has(key), (host) => {
      const owner = ownerOf(key, host);
      const known = shared.get(owner) ?? use.next();
      shared.set(owner, known);
      return known;
    });
    if (!isEqual(wanted, entry.allocated)) result[key] = wanted;
  }
  return result;
}

/** Returns the name of what has an address: a host in the namespace of a ServiceEntry (`namespace/name`). */
function ownerOf(key: string, host: string): string {
  return `${key.slice(0, key.indexOf("/"))} ${host}`;
}

/** Returns the addresses of each host: those that its oldest ServiceEntry has, given in this order. */
function sharedAddresses(
  entries: readonly (readonly [key: string, ObservedServiceEntry])[],
): Map<string, readonly string[]> {
  const shared = new Map<string, readonly string[]>();
  for (const [key, { hosts, allocated }] of entries) {
    for (const host of hosts) {
      const values = valuesOf(allocated, host);
      if (values.length > 0 && !shared.has(ownerOf(key, host))) shared.set(ownerOf(key, host), values);
    }
  }
  return shared;
}

function valuesOf(allocated: readonly HostAddress[], host: string): readonly string[] {
  return allocated.flatMap((at) => (at.host === host && parseAddress(at.value) ? [at.value] : []));
}

function addressesFor(
  { hosts, allocated }: ObservedServiceEntry,
  isReassigned: boolean,
  addressesOf: (host: string) => readonly string[],
): readonly HostAddress[] {
  if (hosts.length === 0) return [];
  const withAddresses = new Set(allocated.flatMap(({ host, value }) => (parseAddress(value) ? [host] : [])));
  const isComplete = hosts.length === withAddresses.size && hosts.every((host) => withAddresses.has(host));
  const hasShared = (host: string): boolean => String(valuesOf(allocated, host)) === String(addressesOf(host));
  if (isComplete && !isReassigned && hosts.every(hasShared)) return allocated;
  return hosts.flatMap((host) => addressesOf(host).map((value) => ({ host, value })));
}

/** The addresses of the prefixes that are in use. */
class AddressUse {
  readonly #ranges: readonly Range[];

  constructor(prefixes: readonly AddressPrefix[]) {
    this.#ranges = prefixes.map((prefix) => ({
      prefix,
      owners: new Map(),
      former: new Set(),
      cursor: prefix.first,
      isExhausted: false,
    }));
  }

  byUser(address: string, key: string): void {
    this.#use(address, key, true);
  }

  /** Returns false if another ServiceEntry has the address. */
  byAllocation(address: string, key: string): boolean {
    const owner = this.#use(address, key, false);
    return owner === undefined || owner === key;
  }

  formerly(address: string): void {
    const parsed = parseAddress(address);
    if (parsed) this.#rangeOf(parsed)?.former.add(parsed.value);
  }

  /** Returns an unused address of each prefix that has one. */
  next(): readonly string[] {
    return this.#ranges.flatMap((range) => {
      const value = nextIn(range);
      return value === undefined ? [] : [formatAddress({ family: range.prefix.family, value })];
    });
  }

  #use(address: string, key: string, isUser: boolean): string | undefined {
    const parsed = parseAddress(address);
    const range = parsed && this.#rangeOf(parsed);
    if (parsed === undefined || range === undefined) return undefined;
    const owner = range.owners.get(parsed.value);
    // Several authors may give the same address: that is for them to decide.
    if (owner !== undefined && !isUser) return owner;
    range.owners.set(parsed.value, key);
    return key;
  }

  #rangeOf(address: NonNullable<ReturnType<typeof parseAddress>>): Range | undefined {
    return this.#ranges.find(({ prefix }) => containsAddress(prefix, address));
  }
}

interface Range {
  readonly prefix: AddressPrefix;
  readonly owners: Map<bigint, string>;
  readonly former: Set<bigint>;
  /** No address before it is free, except former ones. */
  cursor: bigint;
  /** Only former addresses are left. */
  isExhausted: boolean;
}

function nextIn(range: Range): bigint | undefined {
  const { prefix, owners, former } = range;
  while (!range.isExhausted && (owners.has(range.cursor) || former.has(range.cursor))) range.cursor++;
  if (range.cursor > prefix.high) range.isExhausted = true;
  const value = range.isExhausted ? [...former].find((address) => !owners.has(address)) : range.cursor;
  if (value !== undefined) owners.set(value, "");
  return value;
}

function isEqual(a: readonly HostAddress[], b: readonly HostAddress[]): boolean {
  return a.length === b.length && a.every(({ host, value }, at) => host === b[at]?.host && value === b[at].value);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
