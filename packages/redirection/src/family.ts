import { isIPv6 } from "node:net";
import type { Capture, Ranges } from "./capture.js";

/** What differs between rules for IPv4 and IPv6. */
export interface Family {
  /** Where the application speaks to itself. */
  readonly loopback: string;
  /** Where the proxy calls the application from, so that such a connection can be told from others. */
  readonly passthroughSource: string;
  /** Name servers whose queries are captured, as ranges of one address. */
  readonly dnsServers: readonly string[];
  ranges(ranges: Ranges): readonly string[];
}

/** The family of this version of IP. */
export function familyOf({ loopback, dnsServers }: Capture, version: 4 | 6): Family {
  const servers = dnsServers.filter((server) => isIPv6(server) === (version === 6));
  return version === 4
    ? { loopback, passthroughSource: "127.0.0.6/32", dnsServers: servers.map((s) => `${s}/32`), ranges: ({ v4 }) => v4 }
    : {
        loopback: "::1/128",
        passthroughSource: "::6/128",
        dnsServers: servers.map((s) => `${s}/128`),
        ranges: ({ v6 }) => v6,
      };
}
