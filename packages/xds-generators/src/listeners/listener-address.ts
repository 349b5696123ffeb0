import { create } from "@bufbuild/protobuf";
import { type AdditionalAddress, AdditionalAddressSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import type { IpMode } from "@istiod/push-context";
import { address } from "../envoy/address.js";
import { parseIpPrefix } from "../envoy/ip-prefix.js";

/** Wildcard addresses by IP mode, primary family first. */
export const wildcards: Readonly<Record<IpMode, readonly [string, ...string[]]>> = {
  IPv4: ["0.0.0.0"],
  IPv6: ["::"],
  Dual: ["0.0.0.0", "::"],
};

export const localhosts: Readonly<Record<IpMode, readonly [string, ...string[]]>> = {
  IPv4: ["127.0.0.1"],
  IPv6: ["::1"],
  Dual: ["127.0.0.1", "::1"],
};

/** `0.0.0.0_80`. */
export function listenerName(bind: string, port: number): string {
  return `${bind}_${port}`;
}

const mappedPrefix = "::ffff:";

/**
 * Returns the one form of an address that may be written in several: an IPv6 address in short form, an IPv4-mapped one
 * as IPv4. Other texts, such as paths of Unix domain sockets, are unchanged.
 */
export function canonicalAddress(bind: string): string {
  if (!bind.includes(":")) return bind;
  const address = parseIpPrefix(bind)?.address ?? bind;
  return address.startsWith(mappedPrefix) ? address.slice(mappedPrefix.length) : address;
}

export function additionalAddresses(binds: readonly string[], port: number): AdditionalAddress[] {
  return binds
    .filter((bind) => bind !== "")
    .map((bind) => create(AdditionalAddressSchema, { address: address(bind, port) }));
}
