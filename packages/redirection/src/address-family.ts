import { isIPv6 } from "node:net";
import type { CaptureConfig, Ranges } from "./capture-config.js";

/** Parts of the rules that depend on the IP family. */
export interface AddressFamily {
  /** The application's own range on loopback. */
  readonly loopback: string;
  /** Source address of the proxy's connections to the application. */
  readonly passthroughSource: string;
  /** Captured DNS servers, as ranges of one address. */
  readonly dnsServers: readonly string[];
  /** Returns the ranges of this family. */
  ranges(ranges: Ranges): readonly string[];
}

/** Returns the IPv4 or IPv6 parts of a configuration. */
export function addressFamily({ loopback, dnsServers }: CaptureConfig, version: 4 | 6): AddressFamily {
  const servers = dnsServers.filter((server) => isIPv6(server) === (version === 6));
  return version === 4
    ? {
        loopback,
        passthroughSource: "127.0.0.6/32",
        dnsServers: servers.map((server) => `${server}/32`),
        ranges: ({ v4 }) => v4,
      }
    : {
        loopback: "::1/128",
        passthroughSource: "::6/128",
        dnsServers: servers.map((server) => `${server}/128`),
        ranges: ({ v6 }) => v6,
      };
}
