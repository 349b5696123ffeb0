import { ipFamilies } from "../node/addresses.js";

/** Addresses that Envoy's static listeners bind, and the address families of its DNS lookups. */
export interface NetworkSettings {
  readonly localhost: string;
  readonly wildcard: string;
  readonly additionalLocalhost?: string;
  readonly additionalWildcard?: string;
  readonly dnsLookupFamily: "V4_ONLY" | "V6_ONLY" | "ALL";
}

const V4 = { localhost: "127.0.0.1", wildcard: "0.0.0.0" };
const V6 = { localhost: "::1", wildcard: "::" };

/**
 * Returns the settings for the workload's IP families. A workload with both uses IPv4 only, unless `dualStack` is set.
 */
export function networkSettings(
  addresses: readonly string[],
  dualStack: boolean,
  bindAddress: string | undefined,
): NetworkSettings {
  const families = ipFamilies(addresses);
  const lookup = families === "v6" ? "V6_ONLY" : families === "both" && dualStack ? "ALL" : "V4_ONLY";
  if (bindAddress !== undefined && bindAddress !== "")
    return { localhost: bindAddress, wildcard: bindAddress, dnsLookupFamily: lookup };
  if (lookup !== "ALL") return { ...(lookup === "V6_ONLY" ? V6 : V4), dnsLookupFamily: lookup };
  const [first, second] = addresses[0]?.includes(":") ? [V6, V4] : [V4, V6];
  return {
    ...first,
    additionalLocalhost: second.localhost,
    additionalWildcard: second.wildcard,
    dnsLookupFamily: lookup,
  };
}
