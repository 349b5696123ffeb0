import { create } from "@bufbuild/protobuf";
import { type AdditionalAddress, AdditionalAddressSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import type { IpMode } from "@istiod/push-context";
import { address } from "../envoy/address.js";

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

export function additionalAddresses(binds: readonly string[], port: number): AdditionalAddress[] {
  return binds
    .filter((bind) => bind !== "")
    .map((bind) => create(AdditionalAddressSchema, { address: address(bind, port) }));
}
