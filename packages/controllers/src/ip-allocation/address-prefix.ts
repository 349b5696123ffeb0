import { isIP } from "node:net";

/** A range of addresses of one family. */
export interface AddressPrefix {
  readonly family: 4 | 6;
  /** First address that is allocated: the one after the prefix's own. */
  readonly first: bigint;
  /** Bounds of the range, both included. */
  readonly low: bigint;
  readonly high: bigint;
}

/**
 * Parses a range such as `240.240.0.0/16`.
 *
 * @throws Error that says what is expected
 */
export function parsePrefix(text: string, family: 4 | 6): AddressPrefix {
  const [address = "", length = "", ...rest] = text.split("/");
  const bits = family === 4 ? 32 : 128;
  const isValid = isIP(address) === family && /^(0|[1-9]\d{0,2})$/.test(length) && Number(length) <= bits;
  if (!isValid || rest.length > 0)
    throw new Error(`${JSON.stringify(text)} is not an IPv${family} prefix, expected for example ${examples[family]}`);
  const value = parseAddress(address)?.value ?? 0n;
  const size = 1n << BigInt(bits - Number(length));
  const low = (value / size) * size;
  return { family, first: value + 1n, low, high: low + size - 1n };
}

const examples = { 4: "240.240.0.0/16", 6: "2001:2::/48" } as const;

/** An address as a number. IPv4 addresses in IPv6 form are of IPv4. */
export interface ParsedAddress {
  readonly family: 4 | 6;
  readonly value: bigint;
}

/** Parses an address; undefined if it is none. */
export function parseAddress(text: string): ParsedAddress | undefined {
  const family = isIP(text);
  if (family === 4) return { family, value: ipv4Value(text) };
  if (family !== 6 || text.includes("%")) return undefined;
  const value = ipv6Value(text);
  const isMapped = value >> 32n === 0xffffn;
  return isMapped ? { family: 4, value: value & 0xffffffffn } : { family, value };
}

/** Reports whether a prefix contains an address. */
export function containsAddress({ family, low, high }: AddressPrefix, address: ParsedAddress): boolean {
  return address.family === family && address.value >= low && address.value <= high;
}

/** Returns the text of an address, as RFC 5952 writes it. */
export function formatAddress({ family, value }: ParsedAddress): string {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 0xffn)).join(".");
  const groups = Array.from({ length: 8 }, (_, at) => ((value >> BigInt(112 - 16 * at)) & 0xffffn).toString(16));
  const run = longestZeros(groups);
  if (run === undefined) return groups.join(":");
  return `${groups.slice(0, run.start).join(":")}::${groups.slice(run.start + run.length).join(":")}`;
}

/** Returns the first longest run of at least two zero groups. */
function longestZeros(groups: readonly string[]): { readonly start: number; readonly length: number } | undefined {
  let best = { start: 0, length: 1 };
  let start = 0;
  groups.forEach((group, at) => {
    if (group !== "0") start = at + 1;
    else if (at + 1 - start > best.length) best = { start, length: at + 1 - start };
  });
  return best.length > 1 ? best : undefined;
}

function ipv4Value(text: string): bigint {
  return text.split(".").reduce((value, octet) => (value << 8n) | BigInt(octet), 0n);
}

function ipv6Value(text: string): bigint {
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  const tail = dotted?.[2] === undefined ? undefined : ipv4Value(dotted[2]);
  const plain =
    tail === undefined ? text : `${dotted?.[1] ?? ""}${(tail >> 16n).toString(16)}:${(tail & 0xffffn).toString(16)}`;
  const [left = "", right] = plain.split("::");
  const groupsOf = (part: string): string[] => (part === "" ? [] : part.split(":"));
  const head = groupsOf(left);
  const end = groupsOf(right ?? "");
  const zeros = Array.from({ length: right === undefined ? 0 : 8 - head.length - end.length }, () => "0");
  return [...head, ...zeros, ...end].reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}
